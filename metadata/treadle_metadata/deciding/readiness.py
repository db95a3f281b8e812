"""What a run needs next, decided from a snapshot of its task instances: no database, no clock.

``decide`` looks at what a change can affect, in topological order, or at everything undecided. What it decides is
entered into the snapshot at once, so that a skip reaches all tasks below in the same walk. Tested against a slow
oracle that looks at one instance at a time.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from treadle.trigger_rules import UpstreamCounts, Verdict, evaluate
from treadle_metadata.deciding.graph import Graph, Node
from treadle_metadata.deciding.joints import MappedGroup
from treadle_metadata.deciding.snapshot import (
    ACTIVE,
    EVERY,
    FAILED,
    NONE,
    SKIPPED,
    SUCCESS,
    UPSTREAM_FAILED,
    Snapshot,
    Tally,
    upstream_counts,
)
from treadle_metadata.states import RunState

Place = tuple[int, int]
"""One instance: the index of its task in the graph, and its place in the snapshot."""

Change = tuple[int, int, int]
"""An instance that has changed, and its code before."""


@dataclass(slots=True)
class Decisions:
    """What is to be done in one run."""

    schedule: list[Place] = field(default_factory=list)
    succeed: list[Place] = field(default_factory=list)
    """Ready instances that need no worker."""
    skip: list[Place] = field(default_factory=list)
    upstream_fail: list[Place] = field(default_factory=list)
    expand: list[int] = field(default_factory=list)
    """Mapped tasks that are ready: how many instances they get must be looked up first."""
    expand_groups: list[MappedGroup] = field(default_factory=list)
    """Mapped groups of which a task is ready. When they have their instances, the run is to be decided on again."""
    give_up: bool = False
    """A task failed in a DAG with ``fail_fast``: everything else but teardowns ends now, the run fails."""
    finish: RunState | None = None
    reason: str = ""
    """Why the run ends as it does."""

    @property
    def is_empty(self) -> bool:
        """Tell whether no instance moves."""
        moves = (self.schedule, self.succeed, self.skip, self.upstream_fail, self.expand, self.expand_groups)
        return not any(moves)


def decide(
    snapshot: Snapshot,
    changes: Iterable[Change] | None = None,
    held: Collection[int] = (),
    *,
    ending: RunState | None = None,
) -> Decisions:
    """Return what is to be done now in a running run, and enter it into ``snapshot``.

    ``changes`` are the instances that changed since the run was decided on last; None: anything may have. ``held``
    names the tasks that wait for the run before (``depends_on_past``): nothing is decided on them. A run that is
    ``ending`` was ended before its time: only its teardowns still run, and then it takes that state.
    """
    walk = _Walk(snapshot, held)
    if ending is not None or (snapshot.graph.document.fail_fast and snapshot.totals[FAILED]):
        walk.give_up()
        changes = None
    walk.begin(changes)
    decisions = walk.run()
    if not snapshot.totals[NONE] + snapshot.totals[ACTIVE]:
        decisions.finish, decisions.reason = _outcome(snapshot)
        if decisions.give_up:
            decisions.finish = RunState.FAILED
    elif not (held or snapshot.totals[ACTIVE]) and decisions.is_empty:
        if changes is not None:
            return decide(snapshot, None, held, ending=ending)
        decisions.finish, decisions.reason = RunState.FAILED, "no task can run and none is under way"
    if decisions.finish is not None and ending is not None:
        decisions.finish = ending
    return decisions


class _Walk:
    """One pass over the tasks that are to be looked at, each after those before it in the graph."""

    def __init__(self, snapshot: Snapshot, held: Collection[int]) -> None:
        self._snapshot = snapshot
        self._graph = snapshot.graph
        self._held = held
        self._waiting: dict[int, set[int]] = {}
        self._order: list[int] = []
        self._joints: set[int] = set()
        self.decisions = Decisions()

    def give_up(self) -> None:
        """Take everything that has not finished, but teardowns, for ended: it will be."""
        self.decisions.give_up = True
        for node in self._graph.nodes:
            for place, code in enumerate(self._snapshot.codes[node.index]):
                if code in (NONE, ACTIVE) and not node.task.is_teardown:
                    self._snapshot.set(node.index, place, SKIPPED)

    def begin(self, changes: Iterable[Change] | None) -> None:
        """Note what is to be looked at to begin with."""
        if changes is None:
            self._note_all(one.index for one in self._graph.nodes)
            return
        for node, place, before in changes:
            code = self._snapshot.codes[node][place]
            if code == NONE:
                self._note(node, place)
            if code != before:
                self._note_below(node, place)
        self._note_all(self._graph.past_dependent)

    def run(self) -> Decisions:
        """Decide on all that was noted and on what follows from it."""
        while self._order:
            node = self._graph.nodes[heapq.heappop(self._order)]
            places = self._waiting.pop(node.index)
            if node.index not in self._held:
                self._decide(node, places)
        return self.decisions

    def _note_all(self, nodes: Iterable[int]) -> None:
        for node in nodes:
            if NONE in self._snapshot.codes[node]:
                self._note(node, EVERY)

    def _note(self, node: int, place: int) -> None:
        places = self._waiting.get(node)
        if places is None:
            self._waiting[node] = {place}
            heapq.heappush(self._order, node)
        else:
            places.add(place)

    def _note_below(self, node: int, place: int) -> None:
        """Note what is to be looked at since an instance changed."""
        links = self._graph.links
        for joint in links.below[node]:
            # Its heads come after all of its tails: once is enough.
            if joint not in self._joints and not self._snapshot.goes_well(joint):
                self._joints.add(joint)
                self._note_all(links.joints[joint].heads)
        for one in links.followers[node]:
            self._note(one, place)
        self._note_all(links.watchers[node])

    def _decide(self, node: Node, noted: Collection[int]) -> None:
        codes = self._snapshot.codes[node.index]
        if EVERY in noted:
            places = self._snapshot.undecided(node.index)
        else:
            places = [one for one in noted if one < len(codes) and codes[one] == NONE]
        known: dict[tuple[int, ...], str] = {}
        beside = [self._snapshot.codes[one] for one in _beside(self._graph, node)]
        for place in places:
            seen = tuple(own[place] if place < len(own) else 0 for own in beside)
            if self._snapshot.is_left_out(node.index, place):
                action = "skip"
            else:
                action = known.get(seen) or known.setdefault(seen, verdict(self._snapshot, node, place).action)
            if action == "run" and self._is_to_be_expanded(node, place):
                return
            self._enter(action, node, place)

    def _is_to_be_expanded(self, node: Node, place: int) -> bool:
        """Tell whether a task that may run gets its instances first, and note that."""
        group, decisions = node.group, self.decisions
        if node.task.expand is not None:
            decisions.expand.append(node.index)
            return True
        if group is None or group.group_id in self._snapshot.verified:
            return False
        if group in decisions.expand_groups:
            return True
        is_first = not self._graph.links.beside[node.index] and self._snapshot.is_untouched(node.index)
        if not (is_first or (place == 0 and self._snapshot.is_unexpanded(node.index))):
            return False
        if not self._snapshot.is_open(group.sources):
            decisions.expand_groups.append(group)
        return True

    def _enter(self, action: str, node: Node, place: int) -> None:
        """Enter what is decided for one instance."""
        decisions = self.decisions
        match action:
            case "run" if node.task.is_empty:
                self._move(decisions.succeed, node, place, SUCCESS)
            case "run":
                decisions.schedule.append((node.index, place))
                self._snapshot.set(node.index, place, ACTIVE)  # no trigger rule minds
            case "skip":
                self._move(decisions.skip, node, place, SKIPPED)
            case "upstream_fail":
                self._move(decisions.upstream_fail, node, place, UPSTREAM_FAILED)

    def _move(self, moves: list[Place], node: Node, place: int, code: int) -> None:
        moves.append((node.index, place))
        self._snapshot.set(node.index, place, code)
        self._note_below(node.index, place)


def _beside(graph: Graph, node: Node) -> list[int]:
    """Return the tasks of its own mapped group whose states decide on ``node``, at the same place."""
    if node.group is None:
        return []
    return [one for one in waited_for(graph, node) if graph.nodes[one].group is node.group]


def waited_for(graph: Graph, node: Node) -> tuple[int, ...]:
    """Return the tasks whose states decide on ``node``: by the scopes of setups, and directly upstream."""
    scopes = graph.scopes
    seen = (*scopes.work.get(node.index, ()), *scopes.guards.get(node.index, ()), *node.upstream)
    return tuple(dict.fromkeys(seen))


def verdict(snapshot: Snapshot, node: Node, place: int) -> Verdict:
    """Return what is to become of one instance: by the setups above its task, then by its trigger rule."""
    graph = snapshot.graph
    if graph.scopes.guards or graph.scopes.work:
        found = _scope_verdict(snapshot, node, place)
        if found is not None:
            return found
    return evaluate(node.task.trigger_rule, _counts(snapshot, node, place))


def _counts(snapshot: Snapshot, node: Node, place: int) -> UpstreamCounts:
    links = snapshot.graph.links
    tally = snapshot.tally(links.above[node.index])
    beside = links.beside[node.index]
    if beside:
        tally = [a + b for a, b in zip(tally, snapshot.at(beside, node.index, place), strict=True)]
    counts = upstream_counts(tally)
    if node.task.is_teardown:
        setups = [one for one in node.upstream if snapshot.graph.nodes[one].task.task_id in node.task.setups]
        found = upstream_counts(snapshot.at(setups, node.index, place))
        counts.setups_total, counts.setups_success = found.total, found.success
        counts.setups_skipped, counts.setups_failed = found.skipped, found.failed + found.upstream_failed
    return counts


_ENDS_OF_SETUPS: Final = (
    ((FAILED, UPSTREAM_FAILED), "upstream_fail", "failed"),
    ((SKIPPED,), "skip", "was skipped"),
)


def _scope_verdict(snapshot: Snapshot, node: Node, place: int) -> Verdict | None:
    """Return what the scopes of setups say before any trigger rule is asked, or None.

    After a clear, what is directly above may be done while a setup further up runs again (case A39).
    """
    graph = snapshot.graph
    for one in graph.scopes.work.get(node.index, ()):
        if _is_open(snapshot.at((one,), node.index, place)):
            return Verdict("wait", f"waits for the end of {graph.nodes[one].task.task_id!r}, which its setup serves")
    guards = graph.scopes.guards.get(node.index, ())
    setups = [(graph.nodes[one].task.task_id, snapshot.at((one,), node.index, place)) for one in guards]
    for codes, action, word in _ENDS_OF_SETUPS:
        for name, setup in setups:
            if any(setup[code] for code in codes):
                return Verdict(action, f"its setup {name!r} {word}")  # type: ignore[arg-type]
    for name, setup in setups:
        if _is_open(setup):
            return Verdict("wait", f"waits for its setup {name!r}")
    return None


def _is_open(tally: Tally) -> bool:
    return tally[NONE] + tally[ACTIVE] > 0


def _outcome(snapshot: Snapshot) -> tuple[RunState, str]:
    graph = snapshot.graph
    failed = [
        graph.nodes[one].task.task_id
        for one in graph.scopes.deciding
        if FAILED in snapshot.codes[one] or UPSTREAM_FAILED in snapshot.codes[one]
    ]
    if failed:
        return RunState.FAILED, f"{len(failed)} of the last tasks failed: {', '.join(failed[:5])}"
    return RunState.SUCCESS, "all of the last tasks succeeded or were skipped"
