"""``@task``: a function becomes a task by being called in a DAG file.

``@task`` is ``@task.python``; ``@task.bash`` runs the command that the function returns. All operator arguments can
be given: ``@task(retries=3, pool="db")``. A call returns the result as an argument for other tasks.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from treadle.authoring import current_dag
from treadle.context_keys import CONTEXT_KEYS
from treadle.errors import DagError, InvalidArgumentError, UnknownArgumentError
from treadle.expansion import KWARGS, ExpandInput, Mappable
from treadle.operators.base import BaseOperator
from treadle.operators.construction import group_for
from treadle.operators.decorated import PythonDecoratedOperator
from treadle.operators.mapped import MappedOperator
from treadle.source import Site
from treadle.wording import shown
from treadle.xcom_arg import XComArg

if TYPE_CHECKING:
    from treadle.dags import DAG


class TaskFunction:
    """A function under ``@task``. A call makes a task and returns its result; ``function`` is the plain function."""

    def __init__(self, function: Callable[..., Any], kind: type[BaseOperator], arguments: Mapping[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.kind = kind
        self.arguments = dict(arguments)
        self.site: Site = (function.__code__.co_filename, function.__code__.co_firstlineno)
        self._parameters = inspect.signature(function).parameters
        self._check_parameters()

    def __call__(self, *args: Any, **kwargs: Any) -> XComArg:
        """Make a task of this function with these arguments; the function itself runs when the task does.

        Raises:
            DagError: the arguments do not fit the function.
        """
        self._check_call(args, kwargs, complete=True)
        operator = self.kind(**self._settings(), op_args=args, op_kwargs=kwargs)
        return XComArg(operator)

    def override(self, **arguments: Any) -> TaskFunction:
        """Return the same function with other operator arguments; ``task_id`` renames the task."""
        return TaskFunction(self.function, self.kind, {**self.arguments, **arguments})

    def partial(self, **kwargs: Any) -> TaskPartial:
        """Fix some of the function's arguments; ``.expand(...)`` of the result maps the task over others."""
        self._check_call((), kwargs, complete=False)
        return TaskPartial(self, kwargs)

    def expand(self, **mapped: Mappable) -> XComArg:
        """Make one instance of the task for every combination of the items of ``mapped``."""
        return self.partial().expand(**mapped)

    def expand_kwargs(self, kwargs: Sequence[Any] | XComArg, *, strict: bool = True) -> XComArg:
        """Make one instance of the task for each dict of arguments in ``kwargs``."""
        return self.partial().expand_kwargs(kwargs, strict=strict)

    def mapped(self, kind: Literal["product", "kwargs"], fixed: Mapping[str, Any], over: Mapping[str, Any]) -> XComArg:
        """Make the mapped task; for :class:`TaskPartial`."""
        settings = self._settings()
        operator = MappedOperator(
            task_id=settings.pop("task_id"),
            operator_class=self.kind,
            partial_kwargs={**settings, "op_kwargs": dict(fixed)},
            expand_input=ExpandInput(kind, dict(over)),
            nest_under="op_kwargs",
        )
        return XComArg(operator)

    def check_names(self, names: Iterable[str]) -> None:
        """Raise UnknownArgumentError for the first of ``names`` that the function does not take."""
        if any(one.kind is one.VAR_KEYWORD for one in self._parameters.values()):
            return
        for name in names:
            if name not in self._parameters or self._parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY:
                raise UnknownArgumentError(repr(self), name, self._parameters)

    def _settings(self) -> dict[str, Any]:
        settings = {
            "doc_md": inspect.getdoc(self.function),
            **self.arguments,
            "python_callable": self.function,
        }
        settings.setdefault("multiple_outputs", returns_mapping(self.function))
        settings["task_id"] = self._free_id(settings)
        return settings

    def _free_id(self, settings: Mapping[str, Any]) -> str:
        label: str = settings.get("task_id") or self.function.__name__
        group = settings.get("task_group") or group_for(settings.get("dag") or current_dag())
        if group is None or not isinstance(label, str):
            return label
        wanted: str = group.child_id(label)
        return f"{label}{group.dag.free_id(wanted)[len(wanted) :]}"

    def _check_parameters(self) -> None:
        if "self" in self._parameters:
            raise DagError(f"{self!r} has a parameter 'self': decorate a function, not a method", site=self.site)
        for name, one in self._parameters.items():
            if name in CONTEXT_KEYS and one.default not in (None, one.empty):
                raise InvalidArgumentError(
                    repr(self), name, one.default, "None or no default: the name is filled from the task's context",
                    site=self.site,
                )  # fmt: skip

    def _check_call(self, args: Sequence[Any], kwargs: Mapping[str, Any], *, complete: bool) -> None:
        self.check_names(kwargs)
        try:
            bound = inspect.Signature(list(self._parameters.values())).bind_partial(*args, **kwargs)
        except TypeError as reason:
            raise DagError(f"{self!r} cannot be called so: {reason}") from None
        missing = [
            name
            for name, one in self._parameters.items()
            if one.default is one.empty
            and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
            and name not in bound.arguments
            and name not in CONTEXT_KEYS
        ]
        if complete and missing:
            raise DagError(f"{self!r} is called without {', '.join(map(repr, missing))}")

    def __repr__(self) -> str:
        return f"@task function {shown(self.function.__name__)}"


class TaskPartial:
    """A task function with some arguments fixed."""

    def __init__(self, function: TaskFunction, fixed: Mapping[str, Any]) -> None:
        self._function = function
        self._fixed = dict(fixed)

    def partial(self, **kwargs: Any) -> TaskPartial:
        """Fix further arguments."""
        self._function.check_names(kwargs)
        return TaskPartial(self._function, {**self._fixed, **kwargs})

    def expand(self, **mapped: Mappable) -> XComArg:
        """Make one instance for every combination of the items of ``mapped``; over nothing, the task is skipped.

        Raises:
            DagError: an argument is unknown, fixed already, or is no list, dict or result.
        """
        if not mapped:
            raise DagError(f"{self._function!r}: expand() needs at least one argument to map over")
        self._function.check_names(mapped)
        for name, value in mapped.items():
            if name in self._fixed:
                raise DagError(f"{self._function!r}: {name!r} is fixed by partial() already, it cannot be mapped too")
            if not isinstance(value, (list, tuple, dict, XComArg)):
                expected = "a list, a tuple, a dict or the result of an upstream task"
                raise InvalidArgumentError(f"{self._function!r}.expand", name, value, expected)
        return self._function.mapped("product", self._fixed, mapped)

    def expand_kwargs(self, kwargs: Sequence[Any] | XComArg, *, strict: bool = True) -> XComArg:
        """Make one instance for each dict of arguments in ``kwargs``, a list or the result of an upstream task."""
        if not isinstance(kwargs, (list, tuple, XComArg)):
            raise InvalidArgumentError(
                f"{self._function!r}.expand_kwargs",
                KWARGS,
                kwargs,
                "a list of dicts or the result of an upstream task",
            )
        for item in () if isinstance(kwargs, XComArg) else kwargs:
            if not isinstance(item, (dict, XComArg)):
                raise InvalidArgumentError(f"{self._function!r}.expand_kwargs", KWARGS, item, "a dict of arguments")
            if strict and isinstance(item, dict):
                self._function.check_names(item)
        over = kwargs if isinstance(kwargs, XComArg) else list(kwargs)
        return self._function.mapped("kwargs", self._fixed, {KWARGS: over})


def returns_mapping(function: Callable[..., Any]) -> bool:
    """Return whether the function's annotation says that it returns a dict: its keys become XComs of their own."""
    annotation = getattr(function, "__annotations__", {}).get("return")
    if annotation is None:
        return False
    if isinstance(annotation, str):
        try:
            annotation = typing.get_type_hints(function).get("return")
        except Exception:  # an annotation of names that exist only for type checkers says nothing here
            return False
    kind = typing.get_origin(annotation) or annotation
    return isinstance(kind, type) and issubclass(kind, Mapping)


class TaskDecorators:
    """``@task`` and its variants; ``dag.task`` is the same, bound to a DAG."""

    def __init__(self, dag: DAG | None = None) -> None:
        self._bound = {"dag": dag} if dag is not None else {}

    @overload
    def __call__(self, function: Callable[..., Any], /) -> TaskFunction: ...
    @overload
    def __call__(self, function: None = None, /, **arguments: Any) -> Callable[[Callable[..., Any]], TaskFunction]: ...
    def __call__(self, function: Any = None, /, **arguments: Any) -> Any:
        """Make each call of the decorated function a task. Takes every operator argument and ``multiple_outputs``."""
        return self._decorate(PythonDecoratedOperator, function, arguments)

    @overload
    def python(self, function: Callable[..., Any], /) -> TaskFunction: ...
    @overload
    def python(self, function: None = None, /, **arguments: Any) -> Callable[[Callable[..., Any]], TaskFunction]: ...
    def python(self, function: Any = None, /, **arguments: Any) -> Any:
        """Do what ``@task`` does."""
        return self._decorate(PythonDecoratedOperator, function, arguments)

    @overload
    def bash(self, function: Callable[..., Any], /) -> TaskFunction: ...
    @overload
    def bash(self, function: None = None, /, **arguments: Any) -> Callable[[Callable[..., Any]], TaskFunction]: ...
    def bash(self, function: Any = None, /, **arguments: Any) -> Any:
        """Make each call of the decorated function a task that runs the Bash command which the function returns.

        Takes the arguments of ``BashOperator``. The command runs as returned: it is no template, so that data of
        other tasks in it is never taken for one.
        """
        # Loaded on need: subprocess and tempfile are no part of the start-up of Python tasks.
        kind = importlib.import_module("treadle.operators.decorated_bash").BashDecoratedOperator
        return self._decorate(kind, function, arguments)

    def _decorate(self, kind: type[BaseOperator], function: Any, arguments: Mapping[str, Any]) -> Any:
        given = {**self._bound, **arguments}
        if function is None:
            return lambda one: TaskFunction(one, kind, given)
        if not inspect.isfunction(function):
            raise DagError(f"@task decorates functions, not {type(function).__name__}; arguments are given by name")
        return TaskFunction(function, kind, given)


task = TaskDecorators()
"""Decorator: each call of the function makes a task."""
