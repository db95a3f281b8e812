"""Start queued runs, as far as the run limits of their DAGs and backfills allow, and make their task instances.

The DAG's row is locked before its running runs are counted, so that two schedulers never start one run too many
(cases A17, A18). Runs start in order of their time, then of their creation; a DAG's queue never hides another's (B7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata import claims, partitions
from treadle_metadata.deciding.graph import Graph
from treadle_metadata.identifiers import month_of
from treadle_metadata.planning import next_queued_run_due, startable_runs, state_counts
from treadle_metadata.transitions import instances, runs
from treadle_scheduler.context import Context, Done
from treadle_scheduler.time_limits import time_limit

BATCH: Final = 100
MOST_SLOTS: Final = 2**31 - 1
"""What the column holds; no pool is larger, so a task that asks for more can never run either way."""


def start_runs(context: Context) -> Done:
    """Start what may start, and wake it."""
    now = context.clock.now()

    def act(connection: Connection) -> Done:
        dags = claims.claim_dags_with_queued_runs(connection, now=now)
        limits = {dag["dag_id"]: dag["max_active_runs"] or context.settings.max_active_runs_per_dag for dag in dags}
        startable = startable_runs(connection, limits, now=now, most=BATCH) if limits else []
        if startable:
            _start(connection, context, startable, now)
        return Done(len(startable), next_queued_run_due(connection, now=now), again=len(startable) == BATCH)

    return context.database.run(act)


def _start(connection: Connection, context: Context, startable: Sequence[Mapping[str, Any]], now: datetime) -> None:
    started = runs.start(connection, claims.claim_queued_runs(connection, [run["id"] for run in startable]), now=now)
    graphs = context.graphs.get(connection, {run["version_id"] for run in startable})
    by_month = sorted((run for run in startable if run["id"] in started), key=itemgetter("month"))
    for month, batch in groupby(by_month, key=itemgetter("month")):
        _make_instances(connection, list(batch), graphs, month, now)
    dues = [(run, now) for run in started]
    for run in startable:
        end = time_limit(graphs[run["version_id"]], now)
        if end is not None and run["id"] in started:
            dues.append((run["id"], end))
    runs.wake(connection, dues)


def _make_instances(
    connection: Connection, batch: Sequence[Mapping[str, Any]], graphs: Mapping[int, Graph], month: date, now: datetime
) -> None:
    if month != month_of(now):
        # A run that waited for a scheduler over the turn of months may belong to one that nobody made ahead.
        partitions.ensure(connection, month)
    new = [row for run in batch for row in instance_rows(graphs[run["version_id"]], run["id"])]
    # A run that starts again has its instances; a mapped task that was expanded must not get a placeholder beside them.
    known = state_counts(connection, [run["id"] for run in batch if run["clear_number"]], month=month)
    new = [row for row in new if row["task_id"] not in known.get(row["dag_run_id"], ())]
    instances.insert_instances(connection, new, month=month, now=now)


def instance_rows(graph: Graph, dag_run_id: int) -> list[dict[str, Any]]:
    """Return the undecided task instances of a run; a mapped task gets one placeholder, index -1."""
    return [instance_row(graph, node_index, dag_run_id) for node_index in range(len(graph.nodes))]


def instance_row(
    graph: Graph, node_index: int, dag_run_id: int, map_index: int = -1, state: str = "none"
) -> dict[str, Any]:
    """Return the row of one new task instance."""
    node = graph.nodes[node_index]
    task = node.task
    return {
        "dag_run_id": dag_run_id,
        "dag_id": graph.dag_id,
        "task_id": task.task_id,
        "map_index": map_index,
        "state": state,
        "max_tries": min(task.retries, instances.MOST_RETRIES),
        "operator": task.operator,
        "pool": task.pool,
        "pool_slots": min(task.pool_slots, MOST_SLOTS),
        "queue": task.queue,
        "executor": task.executor,
        "priority_weight": node.weight,
    }
