"""Whose turn it is: the order in which ready instances are looked at, so that no DAG starves another of equal weight.

Live work comes before backfills, then higher weights before lower ones; among equals, what was deferred and goes on
comes before new starts. Then, of one pool, the DAG that holds the fewest of its slots; among those, the one that
follows the DAG served last, so that even a pool of one slot goes round. Within a DAG the older run goes first.
``limits.admit`` asks; a scheduler keeps one :class:`Turns` in memory, and loses no more than a turn when it is killed.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final, Protocol, TypeVar

_MOST: Final = 200
"""Classes whose last turn is remembered."""


Standing = tuple[bool, int]
"""Whether it is a backfill's, and its priority weight, negated: the lowest goes first."""


class Queued(Protocol):
    """What stands in line: ``limits.Candidate``."""

    @property
    def dag_id(self) -> str:
        """Return whose it is."""

    @property
    def pool(self) -> str:
        """Return where it wants slots."""

    @property
    def standing(self) -> Standing:
        """Return where it stands before all fairness."""

    @property
    def resumes(self) -> bool:
        """Return whether it was deferred and goes on: it comes before new starts of its standing."""


Q = TypeVar("Q", bound=Queued)


class Turns:
    """The DAG that was served last, for each pool and standing in which others were left in line."""

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, Standing], str] = OrderedDict()

    def last(self, pool: str, standing: Standing) -> str:
        """Return the DAG that was served last; empty, if none was."""
        return self._last.get((pool, standing), "")

    def served(self, pool: str, standing: Standing, dag_id: str) -> None:
        """Remember that ``dag_id`` had its turn."""
        self._last[pool, standing] = dag_id
        self._last.move_to_end((pool, standing))
        if len(self._last) > _MOST:
            self._last.popitem(last=False)

    def forget(self, classes: Iterable[tuple[str, Standing]]) -> None:
        """Forget whose turn was last in classes (pool and standing) in which nobody is left in line."""
        for one in classes:
            self._last.pop(one, None)

    def all(self) -> list[tuple[str, Standing, str]]:
        """Return (pool, standing, DAG served last) of each class."""
        return [(pool, standing, dag_id) for (pool, standing), dag_id in self._last.items()]


def in_turn(candidates: Sequence[Q], shares: Mapping[tuple[str, str], int], turns: Turns) -> Iterator[Q]:
    """Yield the candidates in the order of their turns.

    ``shares`` tells the slots that each (pool, DAG) holds; it is read after each step, so that whoever is admitted
    meanwhile stands back behind the others. Candidates of one DAG and standing keep their order.
    """
    in_order = sorted(candidates, key=attrgetter("standing"))
    for standing, of_standing in groupby(in_order, key=attrgetter("standing")):
        equals = list(of_standing)
        for resumes in (True, False):
            lines: dict[tuple[str, str], deque[Q]] = {}
            for one in equals:
                if one.resumes is resumes:
                    lines.setdefault((one.pool, one.dag_id), deque()).append(one)
            yield from _go_round(standing, lines, shares, turns)


def _go_round(
    standing: Standing, lines: Mapping[tuple[str, str], deque[Q]], shares: Mapping[tuple[str, str], int], turns: Turns
) -> Iterator[Q]:
    last = {pool: turns.last(pool, standing) for pool, _ in lines}
    heap = [(shares.get(key, 0), key[1] <= last[key[0]], key[1], key[0]) for key in lines]
    heapq.heapify(heap)
    while heap:
        share, passed, dag_id, pool = heapq.heappop(heap)
        line = lines[pool, dag_id]
        yield line.popleft()
        now = shares.get((pool, dag_id), 0)
        if now > share:
            turns.served(pool, standing, dag_id)
        if line:
            heapq.heappush(heap, (now, passed, dag_id, pool))
