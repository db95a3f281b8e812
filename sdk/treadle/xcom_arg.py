"""The result of a task that has not run yet, as an argument of other tasks.

``extract()`` of an ``@task`` function and ``operator.output`` give one. Using it as an argument makes the edge and
hands the value over when the downstream task runs. Nothing is read at parse time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from treadle.graph import Node
from treadle.resolvable import Resolvable, Resolver, resolvables_in

if TYPE_CHECKING:
    from treadle.dags import DAG
    from treadle.operators.base import BaseOperator

RETURN_KEY = "return_value"
"""The XCom key of a task's return value."""


class XComArg(Resolvable, Node):
    """The XCom ``key`` of ``operator``. ``result["other"]`` names another XCom of the same task.

    It stands for the task itself on either side of ``>>``. In a text it becomes the template that pulls it, which makes
    no edge: say ``>>`` too.
    """

    __slots__ = ("key", "operator")

    def __init__(self, operator: BaseOperator, key: str = RETURN_KEY) -> None:
        self.operator = operator
        self.key = key

    @property
    def dag(self) -> DAG | None:
        """The DAG of the task."""
        return self.operator.dag

    @property
    def roots(self) -> Sequence[BaseOperator]:
        """The task itself."""
        return (self.operator,)

    @property
    def leaves(self) -> Sequence[BaseOperator]:
        """The task itself."""
        return (self.operator,)

    def resolve(self, resolver: Resolver) -> Any:
        """Return the value that the task pushed (see ``Resolver.value``)."""
        return resolver.value(self)

    def __getitem__(self, key: str) -> XComArg:
        if not isinstance(key, str):
            raise TypeError(
                f"the result of task {self.operator.task_id!r} is not known while the file is parsed: [{key!r}] cannot "
                'be read; ["key"] names another XCom of the task, elements are read inside the downstream task'
            )
        return XComArg(self.operator, key)

    def __iter__(self) -> NoReturn:
        raise TypeError(
            f"the result of task {self.operator.task_id!r} is not known while the file is parsed, so it cannot be "
            "looped over or unpacked; pass it to a task, or map a task over it with expand()"
        )

    def __contains__(self, item: object) -> NoReturn:
        self.__iter__()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, XComArg) and (self.operator, self.key) == (other.operator, other.key)

    def __hash__(self) -> int:
        return hash((id(self.operator), self.key))

    def __str__(self) -> str:
        return f"{{{{ ti.xcom_pull(task_ids={self.operator.task_id!r}, key={self.key!r}) }}}}"

    def __repr__(self) -> str:
        return f"XComArg({self.operator.task_id!r}, {self.key!r})"


def references_in(value: Any) -> Iterator[XComArg]:
    """Yield every XComArg inside ``value``, at any depth of lists, tuples, sets and dicts."""
    for one in resolvables_in(value):
        if isinstance(one, XComArg):
            yield one
