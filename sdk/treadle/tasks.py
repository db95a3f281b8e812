"""``@task``: a function becomes a task by being called in a DAG file.

``@task`` is ``@task.python``; ``@task.bash`` runs the command that the function returns. All operator arguments can
be given: ``@task(retries=3, pool="db")``. A call returns the result as an argument for other tasks.
"""

from __future__ import annotations

import functools
import importlib
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from treadle.authoring import current_dag
from treadle.callables import Parameters, docstring, plain_function
from treadle.context_keys import CONTEXT_KEYS
from treadle.errors import DagError, InvalidArgumentError, UnknownArgumentError
from treadle.operators.base import BaseOperator
from treadle.operators.construction import group_for
from treadle.operators.decorated import PythonDecoratedOperator
from treadle.source import Site
from treadle.wording import shown
from treadle.xcom_arg import ResultArg, XComArg

if TYPE_CHECKING:
    from treadle.dags import DAG
    from treadle.expansion import Mappable
    from treadle.task_mapping import TaskPartial


P = ParamSpec("P")
R = TypeVar("R")

Condition = Callable[[Any], "bool | tuple[bool, str]"]
"""Called with the attempt's context by ``run_if`` and ``skip_if``."""


class TaskFunction:
    """A function under ``@task``. A call makes a task and returns its result; ``function`` is the plain function."""

    __name__: str

    def __init__(
        self,
        function: Callable[..., Any],
        kind: type[BaseOperator],
        arguments: Mapping[str, Any],
        mark: Callable[[BaseOperator], None] | None = None,
    ) -> None:
        if isinstance(function, TaskFunction):
            raise DagError(f"@task stands above {function!r}; write it below the other decorators, or only once")
        plain = plain_function(function)
        if plain is None:
            raise DagError(f"@task decorates functions, not {type(function).__name__}; arguments are given by name")
        functools.update_wrapper(self, function)
        self.function = function
        self.kind = kind
        self.arguments = dict(arguments)
        self.mark = mark
        """Called with each operator made: what ``@setup`` and ``@teardown`` do."""
        self.site: Site = (plain.__code__.co_filename, plain.__code__.co_firstlineno)
        self._parameters = Parameters(plain)
        self._check_parameters()

    def __call__(self, *args: Any, **kwargs: Any) -> XComArg:
        """Make a task of this function with these arguments; the function itself runs when the task does.

        Raises:
            DagError: the arguments do not fit the function.
        """
        self._check_call(args, kwargs)
        missing = [name for name in self._parameters.missing(args, kwargs) if name not in CONTEXT_KEYS]
        if missing:
            raise DagError(f"{self!r} is called without {', '.join(map(repr, missing))}")
        return self.result_of(self.kind(**self.settings(), op_args=args, op_kwargs=kwargs))

    def override(self, **arguments: Any) -> TaskFunction:
        """Return the same function with other operator arguments; ``task_id`` renames the task."""
        return TaskFunction(self.function, self.kind, {**self.arguments, **arguments}, self.mark)

    def marked(self, mark: Callable[[BaseOperator], None]) -> TaskFunction:
        """Return the same function, with ``mark`` called for each of its operators."""
        return TaskFunction(self.function, self.kind, self.arguments, mark)

    def result_of(self, operator: BaseOperator) -> XComArg:
        """Return the result of an operator made of this function, once it is marked as it should be."""
        if self.mark is not None:
            self.mark(operator)
        return XComArg(operator)

    def partial(self, **kwargs: Any) -> TaskPartial:
        """Fix some of the function's arguments; ``.expand(...)`` of the result maps the task over others."""
        self._check_call((), kwargs)
        # Loaded on need: most files map nothing.
        partial: type[TaskPartial] = importlib.import_module("treadle.task_mapping").TaskPartial
        return partial(self, kwargs)

    def expand(self, **mapped: Mappable) -> XComArg:
        """Make one instance of the task for every combination of the items of ``mapped``."""
        return self.partial().expand(**mapped)

    def expand_kwargs(self, kwargs: Sequence[Any] | ResultArg, *, strict: bool = True) -> XComArg:
        """Make one instance of the task for each dict of arguments in ``kwargs``."""
        return self.partial().expand_kwargs(kwargs, strict=strict)

    def check_names(self, names: Iterable[str]) -> None:
        """Raise UnknownArgumentError for the first of ``names`` that the function does not take."""
        if self._parameters.takes_kwargs:
            return
        for name in names:
            if name not in self._parameters.by_name:
                raise UnknownArgumentError(repr(self), name, self._parameters.by_name)

    def settings(self) -> dict[str, Any]:
        """Return the arguments of the operator for the next call, its task id made unique."""
        settings = {
            "doc_md": docstring(self.function),
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
        if "self" in self._parameters.names:
            raise DagError(f"{self!r} has a parameter 'self': decorate a function, not a method", site=self.site)
        for name, default in self._parameters.defaults.items():
            if name in CONTEXT_KEYS and default is not None:
                expected = "None or no default: the name is filled from the task's context"
                raise InvalidArgumentError(repr(self), name, default, expected, site=self.site)

    def _check_call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self.check_names(kwargs)
        if fault := self._parameters.fault_of(args, kwargs):
            raise DagError(f"{self!r} cannot be called so: {fault}")

    def __repr__(self) -> str:
        return f"@task function {shown(self.function.__name__)}"


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

    @overload
    def branch(self, function: Callable[..., Any], /) -> TaskFunction: ...
    @overload
    def branch(self, function: None = None, /, **arguments: Any) -> Callable[[Callable[..., Any]], TaskFunction]: ...
    def branch(self, function: Any = None, /, **arguments: Any) -> Any:
        """Make each call of the decorated function a task that chooses which of the tasks after it run.

        The function returns the id of a task or group, several, or None; see ``BranchPythonOperator``.
        """
        return self._decorate(_branches().BranchDecoratedOperator, function, arguments)

    @overload
    def short_circuit(self, function: Callable[..., Any], /) -> TaskFunction: ...
    @overload
    def short_circuit(
        self, function: None = None, /, **arguments: Any
    ) -> Callable[[Callable[..., Any]], TaskFunction]: ...
    def short_circuit(self, function: Any = None, /, **arguments: Any) -> Any:
        """Make each call of the decorated function a task after which nothing runs if it returns something false.

        Takes ``ignore_downstream_trigger_rules=True``; see ``ShortCircuitOperator``.
        """
        return self._decorate(_branches().ShortCircuitDecoratedOperator, function, arguments)

    @overload
    def sensor(self, function: Callable[..., Any], /) -> TaskFunction: ...
    @overload
    def sensor(self, function: None = None, /, **arguments: Any) -> Callable[[Callable[..., Any]], TaskFunction]: ...
    def sensor(self, function: Any = None, /, **arguments: Any) -> Any:
        """Make each call of the decorated function a sensor: the task waits until it returns something true.

        Takes ``poke_interval``, ``timeout``, ``mode`` and the other arguments of ``BaseSensor``. A ``PokeReturnValue``
        that the function returns carries the task's XCom.
        """
        kind = importlib.import_module("treadle.sensors.python").DecoratedSensorOperator
        return self._decorate(kind, function, arguments)

    def transaction(self, *, conn_id: str, **arguments: Any) -> Callable[[Callable[..., Any]], TaskFunction]:
        """Make each call of the decorated function a task whose database writes commit exactly once.

        The function has a parameter ``transaction``, a psycopg connection to the PostgreSQL of ``conn_id``. Its writes
        commit together with what the task hands on; a later attempt hands on the same. See
        ``treadle.operators.transaction``.
        """
        kind = importlib.import_module("treadle.operators.transaction").TransactionDecoratedOperator
        given = {**arguments, "conn_id": conn_id}
        return lambda function: self._decorate(kind, function, given)

    @overload
    def step(self, function: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def step(self, function: None = None, /, **how: Any) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
    def step(self, function: Any = None, /, **how: Any) -> Any:
        """Make each call of the function, from within a task, a durable step: done once, replayed on a retry.

        Takes ``name``, ``retries``, ``retry_delay``, ``backoff``, ``max_delay`` and ``retry_on``; see
        ``treadle.steps.StepFunction``.
        """
        # Loaded on need, as few tasks have steps.
        made = importlib.import_module("treadle.steps").StepFunction
        return made(function, **how) if function is not None else lambda one: made(one, **how)

    def run_if(self, condition: Condition, skip_message: str | None = None) -> Callable[[TaskFunction], TaskFunction]:
        """Skip the task unless ``condition(context)`` holds. Stands above ``@task``.

        ``condition`` returns True or False, or such a value and the message that the skipped task shows.
        """
        return _conditions().only_if(condition, True, skip_message)  # type: ignore[no-any-return]

    def skip_if(self, condition: Condition, skip_message: str | None = None) -> Callable[[TaskFunction], TaskFunction]:
        """Skip the task if ``condition(context)`` holds. Stands above ``@task``. See :meth:`run_if`."""
        return _conditions().only_if(condition, False, skip_message)  # type: ignore[no-any-return]

    def _decorate(self, kind: type[BaseOperator], function: Any, arguments: Mapping[str, Any]) -> Any:
        given = {**self._bound, **arguments}
        if function is None:
            return lambda one: TaskFunction(one, kind, given)
        return TaskFunction(function, kind, given)


def _branches() -> Any:
    # Loaded on need, as all kinds of tasks but the plain one.
    return importlib.import_module("treadle.operators.branch")


def _conditions() -> Any:
    return importlib.import_module("treadle.conditions")


task = TaskDecorators()
"""Decorator: each call of the function makes a task."""
