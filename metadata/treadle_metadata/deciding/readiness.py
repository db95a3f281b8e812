"""What a run needs next, decided from counts of its task instances' states: no database, no clock.

``decide`` walks the graph once in topological order. What it decides is entered into the counts at once, so that a
skip reaches all tasks below in the same walk. Tested against a slow oracle that looks at one instance at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from treadle.trigger_rules import UpstreamCounts, Verdict, evaluate
from treadle_metadata.deciding.graph import Graph, Node
from treadle_metadata.states import FINISHED, RunState, TaskState

States = Mapping[str, int]
"""How many instances of one task stand in each state."""

_FINISHED: Final = frozenset(state.value for state in FINISHED)
_WAITING: Final = frozenset({TaskState.NONE.value})


@dataclass(slots=True)
class Decisions:
    """What is to be done in one run, as indexes of tasks in its graph."""

    schedule: list[int] = field(default_factory=list)
    expand: list[int] = field(default_factory=list)
    """Mapped tasks that are ready: how many instances they get must be looked up first."""
    succeed: list[int] = field(default_factory=list)
    """Ready tasks that need no worker."""
    skip: list[int] = field(default_factory=list)
    upstream_fail: list[int] = field(default_factory=list)
    give_up: bool = False
    """A task failed in a DAG with ``fail_fast``: everything else but teardowns ends now, the run fails."""
    finish: RunState | None = None
    reason: str = ""
    """Why the run ends as it does."""


Tallies = Sequence[UpstreamCounts] | Mapping[int, UpstreamCounts]
"""The instances of tasks, counted as trigger rules need them, by the tasks' index in the graph."""


def decide(
    graph: Graph, states: Sequence[States], held: Collection[int] = (), told_to_skip: Collection[int] = ()
) -> Decisions:
    """Return what is to be done now in a running run; ``states`` has one entry for each node of ``graph``.

    ``held`` names the tasks that wait for the run before (``depends_on_past``): nothing is decided on them.
    ``told_to_skip`` names those that a branch or short circuit left out: they are skipped whatever their trigger rule.
    """
    decisions = Decisions()
    if graph.document.fail_fast and any(own.get("failed") for own in states):
        decisions.give_up = True
        states = [own if graph.nodes[one].task.is_teardown else _given_up(own) for one, own in enumerate(states)]
    tallies: list[UpstreamCounts] = []
    unfinished = 0
    for node in graph.nodes:
        own = states[node.index]
        if own.get("none") and node.index not in held:
            action = "skip" if node.index in told_to_skip else verdict_on(graph, node, tallies).action
            own = _enter(action, node, own, decisions)
        tallies.append(_tally(own))
        unfinished += tallies[-1].total - tallies[-1].done
    if not unfinished:
        decisions.finish, decisions.reason = _outcome(graph, tallies)
        if decisions.give_up:
            decisions.finish = RunState.FAILED
    elif not held and _is_stuck(states, decisions):
        decisions.finish, decisions.reason = RunState.FAILED, "no task can run and none is under way"
    return decisions


def verdict_in(graph: Graph, node: Node, states: Sequence[States]) -> Verdict:
    """Return what is to become of ``node``; ``states`` has one entry for each node of its graph."""
    return verdict_on(graph, node, {one: _tally(states[one]) for one in waited_for(graph, node)})


def waited_for(graph: Graph, node: Node) -> tuple[int, ...]:
    """Return the tasks whose states decide on ``node``: by the scopes of setups, and directly upstream."""
    scopes = graph.scopes
    seen = (*scopes.work.get(node.index, ()), *scopes.guards.get(node.index, ()), *node.upstream)
    return tuple(dict.fromkeys(seen))


def verdict_on(graph: Graph, node: Node, tallies: Tallies) -> Verdict:
    """Return what is to become of ``node``: by the setups above it, then by its trigger rule."""
    return _scope_verdict(graph, node, tallies) or evaluate(node.task.trigger_rule, _counts(graph, node, tallies))


def _counts(graph: Graph, node: Node, tallies: Tallies) -> UpstreamCounts:
    above = [tallies[one] for one in node.upstream]
    counts = UpstreamCounts(
        total=sum(one.total for one in above),
        success=sum(one.success for one in above),
        failed=sum(one.failed for one in above),
        skipped=sum(one.skipped for one in above),
        upstream_failed=sum(one.upstream_failed for one in above),
        removed=sum(one.removed for one in above),
        done=sum(one.done for one in above),
    )
    if node.task.is_teardown:
        setups = [tallies[one] for one in node.upstream if graph.nodes[one].task.task_id in node.task.setups]
        counts.setups_total = sum(one.total for one in setups)
        counts.setups_success = sum(one.success for one in setups)
        counts.setups_skipped = sum(one.skipped for one in setups)
        counts.setups_failed = sum(one.failed + one.upstream_failed for one in setups)
    return counts


def _scope_verdict(graph: Graph, node: Node, tallies: Tallies) -> Verdict | None:
    """Return what the scopes of setups say before any trigger rule is asked, or None.

    After a clear, what is directly above may be done while a setup further up runs again (case A39).
    """
    for one in graph.scopes.work.get(node.index, ()):
        if tallies[one].done < tallies[one].total:
            return Verdict("wait", f"waits for the end of {graph.nodes[one].task.task_id!r}, which its setup serves")
    setups = [(graph.nodes[one].task.task_id, tallies[one]) for one in graph.scopes.guards.get(node.index, ())]
    for name, setup in setups:
        if setup.failed or setup.upstream_failed:
            return Verdict("upstream_fail", f"its setup {name!r} failed")
    for name, setup in setups:
        if setup.skipped:
            return Verdict("skip", f"its setup {name!r} was skipped")
    for name, setup in setups:
        if setup.done < setup.total:
            return Verdict("wait", f"waits for its setup {name!r}")
    return None


def _enter(action: str, node: Node, own: States, decisions: Decisions) -> States:
    """Enter what is decided for the undecided instances of one task; return the counts as they stand after it."""
    match action:
        case "run" if node.task.expand is not None:
            decisions.expand.append(node.index)
            return own
        case "run" if node.task.is_empty:
            decisions.succeed.append(node.index)
            return _moved(own, "success")
        case "run":
            decisions.schedule.append(node.index)
            return _moved(own, "scheduled")
        case "skip":
            decisions.skip.append(node.index)
            return _moved(own, "skipped")
        case "upstream_fail":
            decisions.upstream_fail.append(node.index)
            return _moved(own, "upstream_failed")
        case _:
            return own


def _given_up(own: States) -> States:
    """Return the counts of one task as they are after everything of it that had not finished was ended."""
    after = {state: count for state, count in own.items() if state in _FINISHED}
    after["skipped"] = sum(own.values()) - sum(after.values()) + after.get("skipped", 0)
    return after


def _moved(own: States, state: str) -> States:
    after = dict(own)
    after[state] = after.get(state, 0) + after.pop("none")
    return after


def _tally(own: States) -> UpstreamCounts:
    return UpstreamCounts(
        total=sum(own.values()),
        success=own.get("success", 0),
        failed=own.get("failed", 0),
        skipped=own.get("skipped", 0),
        upstream_failed=own.get("upstream_failed", 0),
        removed=own.get("removed", 0),
        done=sum(count for state, count in own.items() if state in _FINISHED),
    )


def _outcome(graph: Graph, tallies: Sequence[UpstreamCounts]) -> tuple[RunState, str]:
    failed = [
        graph.nodes[one].task.task_id
        for one in graph.scopes.deciding
        if tallies[one].failed or tallies[one].upstream_failed
    ]
    if failed:
        return RunState.FAILED, f"{len(failed)} of the last tasks failed: {', '.join(failed[:5])}"
    return RunState.SUCCESS, "all of the last tasks succeeded or were skipped"


def _is_stuck(states: Sequence[States], decisions: Decisions) -> bool:
    if decisions.schedule or decisions.expand or decisions.succeed:
        return False
    open_states = {state for own in states for state, count in own.items() if count and state not in _FINISHED}
    return open_states <= _WAITING and not (decisions.skip or decisions.upstream_fail)
