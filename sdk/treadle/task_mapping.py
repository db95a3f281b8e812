"""Mapping an ``@task`` function over lists: what ``partial()``, ``expand()`` and ``expand_kwargs()`` make of it.

Loaded when a file maps a task, which most do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from treadle.errors import DagError, InvalidArgumentError
from treadle.expansion import KWARGS, ExpandInput, Mappable, refuse_inside_mapped_group
from treadle.operators.mapped import MappedOperator
from treadle.xcom_arg import ResultArg, XComArg

if TYPE_CHECKING:
    from treadle.tasks import TaskFunction


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
        refuse_inside_mapped_group(repr(self._function))
        if not mapped:
            raise DagError(f"{self._function!r}: expand() needs at least one argument to map over")
        self._function.check_names(mapped)
        for name, value in mapped.items():
            if name in self._fixed:
                raise DagError(f"{self._function!r}: {name!r} is fixed by partial() already, it cannot be mapped too")
            if not isinstance(value, (list, tuple, dict, ResultArg)):
                expected = "a list, a tuple, a dict or the result of an upstream task"
                raise InvalidArgumentError(f"{self._function!r}.expand", name, value, expected)
        return self._mapped("product", mapped)

    def expand_kwargs(self, kwargs: Sequence[Any] | ResultArg, *, strict: bool = True) -> XComArg:
        """Make one instance for each dict of arguments in ``kwargs``, a list or the result of an upstream task.

        ``strict``: unknown names in dicts that stand in the file are refused here, not when the task runs.
        """
        owner = f"{self._function!r}.expand_kwargs"
        if not isinstance(kwargs, (list, tuple, ResultArg)):
            raise InvalidArgumentError(owner, KWARGS, kwargs, "a list of dicts or the result of an upstream task")
        for item in () if isinstance(kwargs, ResultArg) else kwargs:
            if not isinstance(item, (dict, ResultArg)):
                raise InvalidArgumentError(owner, KWARGS, item, "a dict of arguments")
            if strict and isinstance(item, dict):
                self._function.check_names(item)
        return self._mapped("kwargs", {KWARGS: kwargs if isinstance(kwargs, ResultArg) else list(kwargs)})

    def _mapped(self, kind: Literal["product", "kwargs"], over: Mapping[str, Any]) -> XComArg:
        settings = self._function.settings()
        operator = MappedOperator(
            task_id=settings.pop("task_id"),
            operator_class=self._function.kind,
            partial_kwargs={**settings, "op_kwargs": self._fixed},
            expand_input=ExpandInput(kind, dict(over)),
            nest_under="op_kwargs",
        )
        return self._function.result_of(operator)
