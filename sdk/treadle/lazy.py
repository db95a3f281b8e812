"""Sequences whose elements are fetched or made when they are asked for; what a task gets instead of a long list."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any


class LazySequence(Sequence[Any]):
    """Reads like a list, compares equal to one of the same elements, and can be returned from a task like one.

    Copies, and what another process gets of it, are plain lists.
    """

    @abstractmethod
    def at(self, place: int) -> Any:
        """Return the element ``place``, which is there."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self.at(place) for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"there is no element {index}, there are {len(self)}")
        return self.at(place)

    def __iter__(self) -> Iterator[Any]:
        return (self.at(place) for place in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (list, tuple, LazySequence)) or len(self) != len(other):
            return False
        return all(one == another for one, another in zip(self, other, strict=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)

    __hash__ = None  # type: ignore[assignment]
