"""The result of a task that has not run yet, as an argument of other tasks.

``extract()`` of an ``@task`` function and ``operator.output`` give one. Using it as an argument makes the edge and
hands the value over when the downstream task runs. Nothing is read at parse time. Results can be changed and combined
on the way (``map``, ``zip``, ``concat``; ``treadle.combined``).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

from treadle.graph import Node
from treadle.params import NOTSET
from treadle.resolvable import Items, Resolvable, Resolver, resolvables_in

if TYPE_CHECKING:
    from treadle.combined import ConcatenatedResult, MappedResult, ZippedResult
    from treadle.dags import DAG
    from treadle.operators.base import BaseOperator
    from treadle.setup_teardown import SetupTeardownScope

RETURN_KEY = "return_value"
"""The XCom key of a task's return value."""


class ResultArg(Resolvable, Node):
    """What another task will have returned, or a combination of such: can be an argument, and be mapped over.

    It stands for the tasks themselves on either side of ``>>``.
    """

    __slots__ = ()

    sources: tuple[ResultArg, ...] = ()
    """What it is made of, for a combination."""

    combine: str | None = None
    """How the lengths of the sources make its own (``ExpandArgument.combine``); None if it is as long as its source."""

    def references(self) -> Iterator[XComArg]:
        """Yield the results that it is made of."""
        raise NotImplementedError(f"{type(self).__name__}.references")

    def item(self, items: Items, index: int) -> Any:
        """Return element ``index`` without fetching the others; LookupError if there is none."""
        raise NotImplementedError(f"{type(self).__name__}.item")

    def length(self, items: Items) -> int:
        """Return how many elements there are, without fetching them."""
        raise NotImplementedError(f"{type(self).__name__}.length")

    def items_wanted(self, index: int) -> Iterator[tuple[XComArg, int]]:
        """Yield what :meth:`item` will ask for, where that is known before: so that it is asked all at once."""
        raise NotImplementedError(f"{type(self).__name__}.items_wanted")

    def map(self, function: Callable[[Any], Any]) -> MappedResult:
        """Return this with ``function`` applied to each element, in the task that gets it.

        If ``function`` raises ``SkipTask``, the mapped instance that gets the element is skipped: a filter.

        Raises:
            DagError: ``function`` is a task, or cannot be called.
        """
        return _combined().mapped(self, function)  # type: ignore[no-any-return]

    def zip(self, *others: ResultArg, fillvalue: Any = NOTSET) -> ZippedResult:
        """Return tuples of the elements of this and ``others``: as many as the shortest has.

        With ``fillvalue`` there are as many as the longest has, and it stands where another has none.
        """
        return _combined().zipped(self, others, fillvalue)  # type: ignore[no-any-return]

    def concat(self, *others: ResultArg) -> ConcatenatedResult:
        """Return the elements of this, then those of ``others``."""
        return _combined().concatenated(self, others)  # type: ignore[no-any-return]

    @property
    def roots(self) -> Sequence[BaseOperator]:
        """The tasks themselves."""
        return tuple({id(one.operator): one.operator for one in self.references()}.values())

    @property
    def leaves(self) -> Sequence[BaseOperator]:
        """The tasks themselves."""
        return self.roots

    @property
    def dag(self) -> DAG | None:
        """The DAG of the tasks."""
        return self.roots[0].dag

    def _unknown(self) -> TypeError:
        names = " and ".join(repr(one.task_id) for one in self.roots)
        return TypeError(
            f"the result of task {names} is not known while the file is parsed, so it cannot be "
            "looped over or unpacked; pass it to a task, or map a task over it with expand()"
        )

    def __iter__(self) -> NoReturn:
        raise self._unknown()

    def __contains__(self, item: object) -> NoReturn:
        raise self._unknown()


def _combined() -> Any:
    # Loaded on need: most files combine no results.
    return importlib.import_module("treadle.combined")


class XComArg(ResultArg):
    """The XCom ``key`` of ``operator``. ``result["other"]`` names another XCom of the same task.

    It stands for the task itself on either side of ``>>``. In a text it becomes the template that pulls it, which makes
    no edge: say ``>>`` too.
    """

    __slots__ = ("key", "operator")

    def __init__(self, operator: BaseOperator, key: str = RETURN_KEY) -> None:
        self.operator = operator
        self.key = key

    @property
    def roots(self) -> Sequence[BaseOperator]:
        """The task itself."""
        return (self.operator,)

    def references(self) -> Iterator[XComArg]:
        """Yield this result alone."""
        yield self

    def resolve(self, resolver: Resolver) -> Any:
        """Return the value that the task pushed (see ``Resolver.value``)."""
        return resolver.value(self)

    def item(self, items: Items, index: int) -> Any:
        """Return one element of the value (see ``Items.item``)."""
        return items.item(self, index)

    def length(self, items: Items) -> int:
        """Return the number of elements (see ``Items.length``)."""
        return items.length(self)

    def items_wanted(self, index: int) -> Iterator[tuple[XComArg, int]]:
        """Yield the one element."""
        yield self, index

    def as_setup(self) -> Self:
        """Make the task a setup (see ``BaseOperator.as_setup``)."""
        self.operator.as_setup()
        return self

    def as_teardown(self, *, setups: Any = None, on_failure_fail_dagrun: bool = False) -> Self:
        """Make the task a teardown (see ``BaseOperator.as_teardown``)."""
        self.operator.as_teardown(setups=setups, on_failure_fail_dagrun=on_failure_fail_dagrun)
        return self

    def __enter__(self) -> SetupTeardownScope:
        return self.operator.__enter__()

    def __exit__(self, *raised: object) -> None:
        self.operator.__exit__(*raised)

    def __getitem__(self, key: str) -> XComArg:
        if not isinstance(key, str):
            raise TypeError(
                f"the result of task {self.operator.task_id!r} is not known while the file is parsed: [{key!r}] cannot "
                'be read; ["key"] names another XCom of the task, elements are read inside the downstream task'
            )
        return XComArg(self.operator, key)

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
        if isinstance(one, ResultArg):
            yield from one.references()
