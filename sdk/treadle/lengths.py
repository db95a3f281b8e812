"""How many items a mapped argument has, told from its document: the scheduler and ``dag.test()`` count instances by it.

Pure. The lengths of results come from the caller, who knows where they are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from treadle.document import ExpandArgument

_COMBINE: Final[Mapping[str, Callable[[Sequence[int]], int]]] = {"zip": min, "zip_longest": max, "concat": sum}


def length_of(argument: ExpandArgument, measure: Callable[[ExpandArgument], int | None]) -> int | None:
    """Return the number of items of ``argument``; ``measure`` tells that of one task's result.

    None: a result in it is no list or dict, so ``measure`` said None of it.
    """
    if argument.combine is None:
        return argument.length if argument.task_id is None else measure(argument)
    known = []
    for one in argument.sources:
        length = length_of(one, measure)
        if length is None:
            return None
        known.append(length)
    return _COMBINE[argument.combine](known)


def results_in(argument: ExpandArgument) -> Iterator[ExpandArgument]:
    """Yield the results of tasks that ``argument`` is made of: itself, or its sources at any depth."""
    if argument.combine is None:
        if argument.task_id is not None:
            yield argument
        return
    for one in argument.sources:
        yield from results_in(one)
