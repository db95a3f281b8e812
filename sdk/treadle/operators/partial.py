"""``Operator.partial(...)``: some arguments fixed, the others still to be mapped over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from treadle.errors import DagError, InvalidArgumentError, UnknownArgumentError
from treadle.expansion import KWARGS, ExpandInput, Mappable, refuse_inside_mapped_group
from treadle.operators.arguments import NAMES
from treadle.operators.base import BaseOperator
from treadle.operators.construction import argument_names
from treadle.operators.mapped import MappedOperator
from treadle.source import site_here
from treadle.xcom_arg import ResultArg

_EXPECTED = "a list, a tuple, a dict or the result of an upstream task"


class OperatorPartial:
    """What ``Operator.partial`` gives back. Forgetting to expand it leaves the DAG without the task."""

    def __init__(self, operator_class: type[BaseOperator], task_id: str, arguments: Mapping[str, Any]) -> None:
        self.operator_class = operator_class
        self.task_id = task_id
        self.arguments = dict(arguments)
        self._check_names(arguments)

    def expand(self, **mapped: Mappable) -> MappedOperator:
        """Make one instance for every combination of the items of ``mapped``; over nothing, the task is skipped.

        Raises:
            DagError: an argument is unknown, fixed already, cannot be mapped, or is no list, dict or result.
        """
        refuse_inside_mapped_group(self._owner)
        if not mapped:
            raise DagError(f"{self._owner}: expand() needs at least one argument to map over")
        self._check_names(mapped)
        for name, value in mapped.items():
            if name in self.arguments or name in NAMES:
                raise DagError(f"{self._owner}: {name} cannot be mapped, it is the same for all instances")
            if not isinstance(value, (list, tuple, dict, ResultArg)):
                raise InvalidArgumentError(f"{self._owner}.expand", name, value, _EXPECTED)
        return self._mapped("product", mapped)

    def expand_kwargs(self, kwargs: Sequence[Any] | ResultArg, *, strict: bool = True) -> MappedOperator:
        """Make one instance for each dict of arguments in ``kwargs``, a list or the result of an upstream task.

        ``strict``: unknown names in dicts that stand in the file are refused here, not when the task runs.

        Raises:
            DagError: ``kwargs`` is neither, or names an argument that the operator does not have.
        """
        if not isinstance(kwargs, (list, tuple, ResultArg)):
            raise InvalidArgumentError(f"{self._owner}.expand_kwargs", KWARGS, kwargs, "a list of dicts or a result")
        for item in () if isinstance(kwargs, ResultArg) else kwargs:
            if not isinstance(item, (dict, ResultArg)):
                raise InvalidArgumentError(f"{self._owner}.expand_kwargs", KWARGS, item, "a dict of arguments")
            if strict and isinstance(item, dict):
                self._check_names(item)
        return self._mapped("kwargs", {KWARGS: kwargs if isinstance(kwargs, ResultArg) else list(kwargs)})

    def _mapped(self, kind: Literal["product", "kwargs"], mapped: Mapping[str, Any]) -> MappedOperator:
        return MappedOperator(
            task_id=self.task_id,
            operator_class=self.operator_class,
            partial_kwargs=self.arguments,
            expand_input=ExpandInput(kind, dict(mapped)),
        )

    def _check_names(self, names: Iterable[str]) -> None:
        known = argument_names(self.operator_class)
        for name in names:
            if name not in known:
                raise UnknownArgumentError(self._owner, name, known, site=site_here())

    @property
    def _owner(self) -> str:
        return f"task {self.task_id!r} ({self.operator_class.__name__})"
