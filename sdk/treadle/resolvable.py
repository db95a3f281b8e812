"""Values that are known only while a task runs: results of other tasks and the run's params.

Authoring code puts them into operator arguments, at any depth of lists, tuples, sets and dicts. The task runtime
hands a :class:`Resolver` to ``Resolvable.resolve`` when it renders the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from treadle.task_groups import TaskGroup
    from treadle.xcom_arg import XComArg


class Items(Protocol):
    """Elements of results by their index."""

    def item(self, reference: XComArg, index: int) -> Any:
        """Return the element ``index`` of ``reference``'s value: of a dict its (key, value) pair.

        For a mapped upstream task it is the value of that map index, None if it pushed nothing.
        """

    def length(self, reference: XComArg) -> int:
        """Return how many elements there are: of a mapped upstream task, how many instances."""


class Resolver(Items, Protocol):
    """What the task runtime offers to resolvable values of one attempt. ``item`` fetches one element alone."""

    def value(self, reference: XComArg) -> Any:
        """Return what ``reference`` stands for; of a mapped upstream task all its values, in index order."""

    def in_bulk(self) -> Items:
        """Return the same elements for reading many of them: they are fetched in pages, and pages are kept."""

    def param(self, name: str) -> Any:
        """Return the run's value of the DAG param ``name``."""

    def group_indexes(self, group: TaskGroup) -> Sequence[int]:
        """Return which item of each argument of the mapped ``group`` the attempt's instance gets."""


class Resolvable:
    """A value that is known only while a task runs."""

    __slots__ = ()

    def resolve(self, resolver: Resolver) -> Any:
        """Return the value for the attempt that ``resolver`` serves."""
        raise NotImplementedError(f"{type(self).__name__}.resolve")

    def group_items(self, indexes: Sequence[int]) -> Iterator[tuple[XComArg, int]]:  # noqa: ARG002 - for subclasses
        """Yield what a mapped parameter of a task group will ask for, where that is known before; others nothing."""
        yield from ()


def resolve_nested(value: Any, resolver: Resolver) -> Any:
    """Return ``value`` with every resolvable inside its lists, tuples, sets and dicts resolved. Text is left alone."""
    if isinstance(value, Resolvable):
        return value.resolve(resolver)
    if isinstance(value, dict):
        return {key: resolve_nested(item, resolver) for key, item in value.items()}
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(resolve_nested(item, resolver) for item in value)
    return value


def resolvables_in(value: Any) -> Iterator[Resolvable]:
    """Yield every resolvable inside ``value``, at any depth of lists, tuples, sets and dicts."""
    if isinstance(value, Resolvable):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from resolvables_in(item)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from resolvables_in(item)
