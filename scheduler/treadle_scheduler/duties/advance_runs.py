"""Look at the runs that something happened to, and move their tasks and themselves on.

A beat claims due wake-ups, forgets them, reads the states of those runs' instances as counts, decides purely
(``readiness``), and writes one statement for each kind of change. A running run in which nothing changed costs nothing
(design section 3.1). Wake-ups are forgotten before states are read: one that commits in between is seen next time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata import claims
from treadle_metadata.branches import told_to_skip
from treadle_metadata.deciding.graph import Graph
from treadle_metadata.deciding.past import held_by_past
from treadle_metadata.deciding.readiness import Decisions, decide
from treadle_metadata.endings import stop_tasks
from treadle_metadata.planning import forget_wakeups, next_wakeup, state_counts
from treadle_metadata.states import RunState, TaskState
from treadle_metadata.transitions import instances, runs
from treadle_scheduler.context import Context, Done
from treadle_scheduler.expansion import expand
from treadle_scheduler.time_limits import end_overdue

HELD_ELSEWHERE: Final = timedelta(milliseconds=20)
"""How soon to look again at a woken run that another scheduler holds at this moment."""


def advance_runs(context: Context) -> Done:
    """Move the woken runs on."""
    now = context.clock.now()
    most = context.settings.runs_per_beat

    def act(connection: Connection) -> Done:
        woken = claims.claim_woken_runs(connection, now=now, most=most)
        forget_wakeups(connection, [run["id"] for run in woken], now=now)
        by_month = sorted(woken, key=itemgetter("month"))
        ended = 0
        for month, batch in groupby(by_month, key=itemgetter("month")):
            ended += _advance(connection, context, list(batch), month, now)
        due_at = next_wakeup(connection)
        if due_at is not None and due_at <= now:
            due_at = now + HELD_ELSEWHERE
        return Done(len(woken), due_at, again=len(woken) == most or ended > 0)

    return context.database.run(act)


def _advance(
    connection: Connection, context: Context, woken: Sequence[Mapping[str, Any]], month: date, now: datetime
) -> int:
    """Move runs of one month on; return how many ended, since their DAGs' next runs may start now."""
    graphs = context.graphs.get(connection, {run["version_id"] for run in woken})
    open_runs = end_overdue(connection, woken, graphs, month=month, now=now)
    ids = [run["id"] for run in open_runs]
    instances.schedule_due_retries(connection, ids, month=month, now=now)
    counts = state_counts(connection, ids, month=month)
    held = held_by_past(connection, open_runs, graphs)
    left_out = told_to_skip(connection, open_runs, graphs, month=month)
    decided = []
    for run in open_runs:
        graph = graphs[run["version_id"]]
        of_run = counts.get(run["id"], {})
        states = [of_run.get(node.task.task_id, {}) for node in graph.nodes]
        of_past, of_branches = held.get(run["id"], frozenset()), left_out.get(run["id"], frozenset())
        decided.append((run, graph, decide(graph, states, of_past, of_branches)))
    _write(connection, decided, month, now)
    runs.wake_following(connection, [run["id"] for run, graph, _ in decided if graph.past_dependent], now=now)
    return len(woken) - len(open_runs) + sum(what.finish is not None for _, _, what in decided)


def _write(
    connection: Connection, decided: Sequence[tuple[Mapping[str, Any], Graph, Decisions]], month: date, now: datetime
) -> None:
    """Write all decisions of one month: one statement for each kind of change."""
    kinds = (
        ("schedule", TaskState.SCHEDULED),
        ("succeed", TaskState.SUCCESS),
        ("skip", TaskState.SKIPPED),
        ("upstream_fail", TaskState.UPSTREAM_FAILED),
    )
    for name, state in kinds:
        pairs = [
            (run["id"], graph.nodes[one].task.task_id) for run, graph, what in decided for one in getattr(what, name)
        ]
        instances.decide(connection, pairs, state, month=month, now=now)
    for run, graph, what in decided:
        for one in what.expand:
            expand(connection, run, graph, one, month=month, now=now)
    for run, graph, what in decided:
        if what.give_up:
            teardowns = [node.task.task_id for node in graph.nodes if node.task.is_teardown]
            stop_tasks(connection, [run["id"]], TaskState.FAILED, sparing=teardowns, month=month, now=now)
    for outcome in (RunState.SUCCESS, RunState.FAILED):
        ended = [run["id"] for run, _, what in decided if what.finish is outcome]
        runs.finish(connection, ended, outcome, now=now)
