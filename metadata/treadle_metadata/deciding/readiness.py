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
_FAILED: Final = ("failed", "upstream_failed")
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
    """A task failed in a DAG with ``fail_fast``: everything else ends now, and the run fails."""
    finish: RunState | None = None
    reason: str = ""
    """Why the run ends as it does."""


@dataclass(slots=True)
class _Tally:
    """The instances of one task, counted as trigger rules need them."""

    total: int = 0
    success: int = 0
    failed: int = 0
    skipped: int = 0
    upstream_failed: int = 0
    removed: int = 0


def decide(graph: Graph, states: Sequence[States], held: Collection[int] = ()) -> Decisions:
    """Return what is to be done now in a running run; ``states`` has one entry for each node of ``graph``.

    ``held`` names the tasks that wait for the run before (``depends_on_past``): nothing is decided on them.
    """
    decisions = Decisions()
    if graph.document.fail_fast and any(own.get("failed") for own in states):
        decisions.give_up = True
        return decisions
    tallies: list[_Tally] = []
    unfinished = 0
    for node in graph.nodes:
        own = states[node.index]
        if own.get("none") and node.index not in held:
            own = _decide_node(node, own, tallies, decisions)
        tallies.append(_tally(own))
        unfinished += sum(count for state, count in own.items() if state not in _FINISHED)
    if not unfinished:
        decisions.finish, decisions.reason = _outcome(graph, tallies)
    elif not held and _is_stuck(states, decisions):
        decisions.finish, decisions.reason = RunState.FAILED, "no task can run and none is under way"
    return decisions


def verdict_in(node: Node, states: Sequence[States]) -> Verdict:
    """Return what the trigger rule of ``node`` says; ``states`` has one entry for each node of its graph."""
    return verdict_on(node, {one: _tally(states[one]) for one in node.upstream})


def verdict_on(node: Node, tallies: Sequence[_Tally] | Mapping[int, _Tally]) -> Verdict:
    """Return what the trigger rule of ``node`` says of its upstream tasks."""
    above = [tallies[one] for one in node.upstream]
    success = sum(one.success for one in above)
    failed = sum(one.failed for one in above)
    skipped = sum(one.skipped for one in above)
    upstream_failed = sum(one.upstream_failed for one in above)
    removed = sum(one.removed for one in above)
    return evaluate(
        node.task.trigger_rule,
        UpstreamCounts(
            total=sum(one.total for one in above),
            success=success,
            failed=failed,
            skipped=skipped,
            upstream_failed=upstream_failed,
            removed=removed,
            done=success + failed + skipped + upstream_failed + removed,
        ),
    )


def _decide_node(node: Node, own: States, tallies: Sequence[_Tally], decisions: Decisions) -> States:
    """Decide for the undecided instances of one task; return the counts as they stand after the decision."""
    match verdict_on(node, tallies).action:
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


def _moved(own: States, state: str) -> States:
    after = dict(own)
    after[state] = after.get(state, 0) + after.pop("none")
    return after


def _tally(own: States) -> _Tally:
    return _Tally(
        total=sum(own.values()),
        success=own.get("success", 0),
        failed=own.get("failed", 0),
        skipped=own.get("skipped", 0),
        upstream_failed=own.get("upstream_failed", 0),
        removed=own.get("removed", 0),
    )


def _outcome(graph: Graph, tallies: Sequence[_Tally]) -> tuple[RunState, str]:
    failed = [
        graph.nodes[one].task.task_id for one in graph.leaves if tallies[one].failed or tallies[one].upstream_failed
    ]
    if failed:
        return RunState.FAILED, f"{len(failed)} of the last tasks failed: {', '.join(failed[:5])}"
    return RunState.SUCCESS, "all of the last tasks succeeded or were skipped"


def _is_stuck(states: Sequence[States], decisions: Decisions) -> bool:
    if decisions.schedule or decisions.expand or decisions.succeed:
        return False
    open_states = {state for own in states for state, count in own.items() if count and state not in _FINISHED}
    return open_states <= _WAITING and not (decisions.skip or decisions.upstream_fail)
