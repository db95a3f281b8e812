"""Move claimed runs of one month on: bring their snapshots up to date, decide purely, write what is decided.

Called by the duty ``advance_runs`` within its transaction. The number of statements does not grow with that of runs;
only a mapping that gets its instances costs some of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.admission import weigh_anew
from treadle_metadata.claims import WokenRuns
from treadle_metadata.deciding.past import held_by_past
from treadle_metadata.deciding.readiness import Change, Decisions, decide
from treadle_metadata.deciding.snapshot import ACTIVE, Snapshot
from treadle_metadata.endings import stop_tasks
from treadle_metadata.states import RunState, TaskState
from treadle_metadata.transitions import instances, runs
from treadle_scheduler.context import Context
from treadle_scheduler.expansion import Expansion
from treadle_scheduler.memory import Updates
from treadle_scheduler.time_limits import end_overdue

_MOVES: Final = (
    ("schedule", TaskState.SCHEDULED),
    ("succeed", TaskState.SUCCESS),
    ("skip", TaskState.SKIPPED),
    ("upstream_fail", TaskState.UPSTREAM_FAILED),
)

Held = Mapping[int, frozenset[int]]


@dataclass(frozen=True, slots=True)
class Advanced:
    """What came of it: how many runs ended, whose DAGs' next runs may start now, and whether runs were woken anew."""

    ended: int
    wakes: bool

    def __add__(self, other: Advanced) -> Advanced:
        """Return both together."""
        return Advanced(self.ended + other.ended, self.wakes or other.wakes)


NOTHING: Final = Advanced(0, wakes=False)


@dataclass(frozen=True, slots=True)
class Decided:
    """One run and what is to be done in it."""

    run: Mapping[str, Any]
    snapshot: Snapshot
    what: Decisions


def advance(
    connection: Connection,
    context: Context,
    woken: Sequence[Mapping[str, Any]],
    why: WokenRuns,
    *,
    month: date,
    now: datetime,
) -> Advanced:
    """Move runs on."""
    graphs = context.graphs.get(connection, {run["version_id"] for run in woken})
    open_runs = end_overdue(connection, woken, graphs, month=month, now=now)
    retrying = [run["id"] for run in open_runs if run["id"] in why.retrying]
    due = instances.schedule_due_retries(connection, retrying, month=month, now=now)
    weigh_anew(connection, due, {run["id"]: graphs[run["version_id"]] for run in open_runs}, month=month)
    # What ends before its time was changed by no report.
    changed = {**why.changed, **{run["id"]: None for run in open_runs if run["ending"]}}
    updates = context.memory.look_at(connection, open_runs, graphs, changed, month=month)
    held = held_by_past(connection, open_runs, graphs)
    if due or any(_may_be_ready(snapshot, changes) for snapshot, changes in updates.values()):
        context.may_queue = True
    decided = [_decide(context, run, updates, held) for run in open_runs]
    _write_moves(connection, context, decided, month, now)
    decided = _expand(connection, context, decided, held, month, now)
    _end(connection, context, decided, month, now)
    wakes = _wake_following(connection, decided, now) or any(run["ending"] for run in open_runs)
    ended = len(woken) - len(open_runs) + sum(one.what.finish is not None for one in decided)
    return Advanced(ended, wakes or len(open_runs) < len(woken))


def _decide(context: Context, run: Mapping[str, Any], updates: Updates, held: Held) -> Decided:
    snapshot, changes = updates[run["id"]]
    ending = RunState(run["ending"]) if run["ending"] else None
    with context.costs.of(snapshot.graph.dag_id):
        what = decide(snapshot, changes, held.get(run["id"], frozenset()), ending=ending)
    return Decided(run, snapshot, what)


def _may_be_ready(snapshot: Snapshot, changes: Sequence[Change] | None) -> bool:
    """Tell whether something else than a decision may have made an instance ready: one was handed back, say."""
    return changes is None or any(snapshot.codes[node][place] == ACTIVE for node, place, _ in changes)


def _write_moves(
    connection: Connection, context: Context, decided: Sequence[Decided], month: date, now: datetime
) -> None:
    """Write the moves of instances: one statement for each kind."""
    context.may_queue = context.may_queue or any(one.what.schedule for one in decided)
    for name, state in _MOVES:
        moved = [
            (one.run["id"], one.snapshot.graph.nodes[node].task.task_id, place - 1)
            for one in decided
            for node, place in getattr(one.what, name)
        ]
        instances.decide_instances(connection, moved, state, month=month, now=now)


def _expand(
    connection: Connection, context: Context, decided: Sequence[Decided], held: Held, month: date, now: datetime
) -> list[Decided]:
    """Give ready mappings their instances and decide again on their runs, until none is left to be expanded.

    Returns the last decisions on each run.
    """
    last = {one.run["id"]: one for one in decided}
    left = [one for one in decided if one.what.expand or one.what.expand_groups]
    while left:
        verified = {one.run["id"]: one.snapshot.verified for one in left}
        for one in left:
            most = context.settings.max_map_length
            expansion = Expansion(connection, one.run["id"], one.snapshot.graph, month, now, most)
            for node in one.what.expand:
                expansion.expand(node)
            for group in one.what.expand_groups:
                expansion.expand_group(group)
                verified[one.run["id"]].add(group.group_id)
        updates = context.memory.read(connection, {one.run["id"]: one.snapshot.graph for one in left}, month)
        for run, (snapshot, _) in updates.items():
            snapshot.verified |= verified[run]
        again = [_decide(context, one.run, updates, held) for one in left]
        _write_moves(connection, context, again, month, now)
        last |= {one.run["id"]: one for one in again}
        left = [one for one in again if one.what.expand or one.what.expand_groups]
    return list(last.values())


def _end(connection: Connection, context: Context, decided: Sequence[Decided], month: date, now: datetime) -> None:
    """Stop what is given up, and end the runs in which nothing is left to do."""
    ended: dict[tuple[RunState, str | None], list[int]] = {}
    for one in decided:
        if one.what.give_up:
            teardowns = [node.task.task_id for node in one.snapshot.graph.nodes if node.task.is_teardown]
            run, told = one.run["id"], "another task of its run failed, and the DAG has fail_fast"
            stop_tasks(connection, [run], TaskState.FAILED, sparing=teardowns, month=month, now=now, told=told)
        if one.what.finish is not None:
            ended.setdefault((one.what.finish, one.run["ending_reason"]), []).append(one.run["id"])
        if one.what.give_up or one.what.finish is not None:
            context.memory.forget([one.run["id"]])
    for (outcome, reason), ids in ended.items():
        runs.finish(connection, ids, outcome, now=now, reason=reason)


def _wake_following(connection: Connection, decided: Sequence[Decided], now: datetime) -> bool:
    """Have the runs looked at that may wait for one of these; tell whether there are any."""
    depended_on, over = [], []
    for one in decided:
        if one.snapshot.graph.past_dependent:
            depended_on.append(one.run["id"])
        elif one.what.finish is not None and one.run["logical_date"] is not None:
            over.append(one.run["id"])
    return runs.wake_following(connection, depended_on, over=over, now=now) > 0
