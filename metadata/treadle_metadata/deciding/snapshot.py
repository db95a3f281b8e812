"""The states of one run's task instances, compact: one byte for each instance, counted where trigger rules look.

A scheduler keeps one for each run that it advances, so that a change costs what it can affect and not the run's size:
what a joint's tails add up to is counted when it is first asked for and kept up to date from then on. Plain memory,
no database; a scheduler that dies loses nothing, the next one reads the rows again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from treadle.trigger_rules import UpstreamCounts
from treadle_metadata.deciding.graph import Graph
from treadle_metadata.states import TaskState

ABSENT, NONE, ACTIVE, SUCCESS, FAILED, SKIPPED, UPSTREAM_FAILED, REMOVED = range(8)
"""What is known of one instance; ``ACTIVE`` stands for all states that are neither undecided nor finished."""

CODES: Final[dict[str, int]] = dict.fromkeys((state.value for state in TaskState), ACTIVE) | {
    "none": NONE,
    "success": SUCCESS,
    "failed": FAILED,
    "skipped": SKIPPED,
    "upstream_failed": UPSTREAM_FAILED,
    "removed": REMOVED,
}

EVERY: Final = -1
"""In place of a place: all instances of a task."""

Tally = list[int]
"""How many instances have each code."""


class Snapshot:
    """The instances of one run, by task and place. The place of map index ``i`` is ``i + 1``, of an unmapped one 0."""

    __slots__ = ("_tallies", "codes", "graph", "left_out", "totals", "verified")

    def __init__(self, graph: Graph, rows: Iterable[tuple[str, int, str]]) -> None:
        """``rows`` are (task id, map index, state) of all instances of the run."""
        self.graph = graph
        self.codes = [bytearray() for _ in graph.nodes]
        self.totals: Tally = [0] * 8
        self._tallies: dict[int, Tally] = {}
        self.left_out: dict[int, set[int]] = {}
        """The places of each task that a branch or short circuit left out; ``EVERY`` among them means all."""
        self.verified: set[str] = set()
        """The mapped groups that are known to be as long as what they are mapped over."""
        for task_id, map_index, state in rows:
            node = graph.index.get(task_id)
            if node is not None:
                self.set(node, map_index + 1, CODES[state])

    def __len__(self) -> int:
        """Return about how much there is to remember: tasks and instances."""
        return len(self.codes) + sum(map(len, self.codes))

    def set(self, node: int, place: int, code: int) -> int:
        """Enter the code of one instance; return the one before."""
        own = self.codes[node]
        if place >= len(own):
            own.extend(bytes(place + 1 - len(own)))
        before = own[place]
        if before != code:
            own[place] = code
            self.totals[before] -= before != ABSENT
            self.totals[code] += 1
            if self._tallies:
                self._count(node, before, code)
        return before

    def _count(self, node: int, before: int, code: int) -> None:
        for joint in self.graph.links.below[node]:
            tally = self._tallies.get(joint)
            if tally is not None:
                tally[before] -= 1
                tally[code] += 1

    def tally(self, joint: int) -> Tally:
        """Return what the tails of a joint add up to, by code; ``ABSENT`` has no meaning in it."""
        found = self._tallies.get(joint)
        if found is None:
            found = self._tallies[joint] = self.added_up(self.graph.links.joints[joint].tails)
        return found

    def goes_well(self, joint: int) -> bool:
        """Tell whether no head of a joint needs a look: some of its tails are unfinished, and all others succeeded."""
        if not self.graph.links.joints[joint].is_patient:
            return False
        tally = self.tally(joint)
        return tally[NONE] + tally[ACTIVE] > 0 and not tally[FAILED] + tally[SKIPPED] + tally[UPSTREAM_FAILED]

    def added_up(self, nodes: Iterable[int]) -> Tally:
        """Return how many instances of these tasks have each code."""
        found: Tally = [0] * 8
        for node in nodes:
            own = self.codes[node]
            if len(own) == 1:
                found[own[0]] += 1
            elif own:
                for code in range(1, 8):
                    found[code] += own.count(code)
        return found

    def undecided(self, node: int) -> list[int]:
        """Return the places of a task's undecided instances."""
        own = self.codes[node]
        if len(own) == 1:
            return [0] if own[0] == NONE else []
        found, place = [], own.find(NONE)
        while place >= 0:
            found.append(place)
            place = own.find(NONE, place + 1)
        return found

    def is_unexpanded(self, node: int) -> bool:
        """Tell whether a task of a mapped group has just its placeholder."""
        own = self.codes[node]
        return all(code in (ABSENT, REMOVED) for code in own[1:]) if len(own) > 1 and own[0] else len(own) < 2

    def is_untouched(self, node: int) -> bool:
        """Tell whether nothing of a task is decided yet."""
        own = self.codes[node]
        return own.count(NONE) + own.count(ABSENT) + own.count(REMOVED) == len(own)

    def is_left_out(self, node: int, place: int) -> bool:
        """Tell whether a branch or short circuit left an instance out."""
        places = self.left_out.get(node)
        return places is not None and (place in places or EVERY in places)

    def is_open(self, nodes: Iterable[int]) -> bool:
        """Tell whether any instance of these tasks is unfinished."""
        tally = self.added_up(nodes)
        return tally[NONE] + tally[ACTIVE] > 0

    def leave_out(self, skipper: int, map_index: int, names: Iterable[str]) -> list[tuple[int, int]]:
        """Enter what one attempt of a branch left out; return (task, place) of it.

        Within a mapped group a branch speaks for its own index, and of the tasks of the group alone: those after the
        group see what became of all indexes (case A31).
        """
        nodes, group = self.graph.nodes, self.graph.nodes[skipper].group
        found = []
        for name in names:
            node = self.graph.index.get(name)
            if node is None or (group is not None and nodes[node].group is not group):
                continue
            place = EVERY if group is None else map_index + 1
            self.left_out.setdefault(node, set()).add(place)
            found.append((node, place))
        return found

    def at(self, nodes: Iterable[int], node: int, place: int) -> Tally:
        """Return what other tasks add up to for one instance: those of its mapped group count at its own place."""
        group = self.graph.nodes[node].group
        found: Tally = [0] * 8
        for one in nodes:
            if group is not None and self.graph.nodes[one].group is group:
                own = self.codes[one]
                if place < len(own):
                    found[own[place]] += 1
            else:
                found = _sum(found, self.added_up((one,)))
        return found


def _sum(one: Tally, other: Sequence[int]) -> Tally:
    return [a + b for a, b in zip(one, other, strict=True)]


def upstream_counts(tally: Sequence[int]) -> UpstreamCounts:
    """Return a tally as trigger rules take it."""
    _, none, active, success, failed, skipped, upstream_failed, removed = tally
    done = success + failed + skipped + upstream_failed + removed
    return UpstreamCounts(none + active + done, success, failed, skipped, upstream_failed, removed, done)


def rows_of(found: Iterable[Any]) -> dict[int, list[tuple[str, int, str]]]:
    """Return rows of (run, task, map index, state), by run."""
    by_run: dict[int, list[tuple[str, int, str]]] = {}
    for run, task_id, map_index, state in found:
        by_run.setdefault(run, []).append((task_id, map_index, state))
    return by_run
