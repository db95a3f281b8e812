"""Results of other tasks, changed or combined on their way: ``map``, ``zip`` and ``concat`` of a result.

Each can be mapped over, where an instance fetches only the elements that it needs, and be an ordinary argument, where
the task gets a :class:`Elements`: a sequence that makes its elements when they are asked for. Nothing is stored of
the combination; the DAG's document says how long it is. Functions given to ``map`` run in the downstream task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from treadle.errors import DagError
from treadle.lazy import LazySequence
from treadle.params import NOTSET
from treadle.resolvable import Items, Resolver
from treadle.tasks import TaskFunction
from treadle.wording import shown
from treadle.xcom_arg import ResultArg, XComArg


class Elements(LazySequence):
    """The elements of a combined result, each made when it is asked for."""

    def __init__(self, argument: ResultArg, items: Items) -> None:
        self._argument = argument
        self._items = items
        self._length: int | None = None

    def __len__(self) -> int:
        if self._length is None:
            self._length = self._argument.length(self._items)
        return self._length

    def at(self, place: int) -> Any:
        """Make one element."""
        return self._argument.item(self._items, place)

    def __repr__(self) -> str:
        return f"<elements of {self._argument!r}>"


class _Combined(ResultArg):
    """What the three kinds share: they are made of other results."""

    __slots__ = ("sources",)

    def __init__(self, sources: Sequence[ResultArg]) -> None:
        self.sources = tuple(sources)

    def references(self) -> Iterator[XComArg]:
        """Yield the results that it is made of."""
        for one in self.sources:
            yield from one.references()

    def resolve(self, resolver: Resolver) -> Any:
        """Return the elements, made when they are asked for."""
        return Elements(self, resolver.in_bulk())

    def items_wanted(self, index: int) -> Iterator[tuple[XComArg, int]]:
        """Yield what all sources want for the same index."""
        for one in self.sources:
            yield from one.items_wanted(index)


class MappedResult(_Combined):
    """A result with functions applied to each of its elements; they are called in the downstream task."""

    __slots__ = ("function",)

    def __init__(self, source: ResultArg, function: Callable[[Any], Any]) -> None:
        super().__init__([source])
        self.function = function

    def item(self, items: Items, index: int) -> Any:
        """Return what the function makes of one element."""
        return self.function(self.sources[0].item(items, index))

    def length(self, items: Items) -> int:
        """Return the length of the source."""
        return self.sources[0].length(items)

    def __repr__(self) -> str:
        return f"{self.sources[0]!r}.map({getattr(self.function, '__name__', self.function)!s})"


class ZippedResult(_Combined):
    """Tuples of the elements of several results."""

    __slots__ = ("combine", "fillvalue")

    def __init__(self, sources: Sequence[ResultArg], fillvalue: Any) -> None:
        super().__init__(sources)
        self.fillvalue = fillvalue
        self.combine = "zip" if fillvalue is NOTSET else "zip_longest"

    def item(self, items: Items, index: int) -> tuple[Any, ...]:
        """Return the tuple of the elements at ``index``."""
        if self.combine == "zip":
            return tuple(one.item(items, index) for one in self.sources)
        return tuple(one.item(items, index) if index < one.length(items) else self.fillvalue for one in self.sources)

    def length(self, items: Items) -> int:
        """Return the length of the shortest source, or with a fill value of the longest."""
        lengths = [one.length(items) for one in self.sources]
        return min(lengths) if self.combine == "zip" else max(lengths)

    def items_wanted(self, index: int) -> Iterator[tuple[XComArg, int]]:
        """Yield what the sources want, if all of them have so many elements."""
        if self.combine == "zip":
            yield from super().items_wanted(index)

    def __repr__(self) -> str:
        return f"{self.sources[0]!r}.zip({', '.join(map(repr, self.sources[1:]))})"


class ConcatenatedResult(_Combined):
    """The elements of several results, one after the other."""

    __slots__ = ()

    combine = "concat"

    def item(self, items: Items, index: int) -> Any:
        """Return the element of the source in which ``index`` falls; LookupError if it is beyond all."""
        before = 0
        for one in self.sources:
            length = one.length(items)
            if index - before < length:
                return one.item(items, index - before)
            before += length
        raise LookupError(
            f"{self!r} has no element {index} any more, only {before}: a task before was run again after this one was "
            "expanded; clear this task too"
        )

    def length(self, items: Items) -> int:
        """Return the sum of the lengths of the sources."""
        return sum(one.length(items) for one in self.sources)

    def items_wanted(self, index: int) -> Iterator[tuple[XComArg, int]]:  # noqa: ARG002 - the contract's
        """Yield nothing: where ``index`` falls is known only with the lengths."""
        yield from ()

    def __repr__(self) -> str:
        return f"{self.sources[0]!r}.concat({', '.join(map(repr, self.sources[1:]))})"


def mapped(source: ResultArg, function: Callable[[Any], Any]) -> MappedResult:
    """Return ``source.map(function)``; DagError if that cannot be called in the downstream task."""
    if isinstance(function, TaskFunction):
        raise DagError(f"{source!r}.map takes a plain function, not {function!r}; expand() maps a task over results")
    if not callable(function):
        raise DagError(f"{source!r}.map takes a function of one element, not {shown(function)}")
    return MappedResult(source, function)


def zipped(source: ResultArg, others: Sequence[ResultArg], fillvalue: Any) -> ZippedResult:
    """Return ``source.zip(*others)``; DagError if one of them is no result of a task."""
    return ZippedResult([source, *_results(source, "zip", others)], fillvalue)


def concatenated(source: ResultArg, others: Sequence[ResultArg]) -> ConcatenatedResult:
    """Return ``source.concat(*others)``; DagError if one of them is no result of a task."""
    return ConcatenatedResult([source, *_results(source, "concat", others)])


def _results(source: ResultArg, verb: str, others: Sequence[Any]) -> Sequence[ResultArg]:
    for other in others:
        if not isinstance(other, ResultArg):
            raise DagError(f"{source!r}.{verb} takes results of tasks, not {shown(other)} ({type(other).__name__})")
    return others
