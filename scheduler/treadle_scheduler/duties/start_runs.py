"""Start queued runs, as far as the run limits of their DAGs and backfills allow, and make their task instances.

The DAG's row is locked before its running runs are counted, so that two schedulers never start one run too many
(cases A17, A18). Runs start in order of their time, then of their creation; DAGs take turns (cases A21, B7). Where
tasks wait for the run before, runs start in the order of their logical dates, and a running run that can only wait
gives its place to the one that it waits for: else both would wait for each other for ever. A run of a version that
cannot be read stays queued, and holds up no other DAG.
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
from treadle_metadata.fresh_instances import instance_rows
from treadle_metadata.identifiers import month_of
from treadle_metadata.planning import next_queued_run_due, runs_in_the_way, startable_runs, state_counts
from treadle_metadata.transitions import instances, runs
from treadle_scheduler.context import Context, Done
from treadle_scheduler.time_limits import time_limit

BATCH: Final = 100

Row = Mapping[str, Any]


def start_runs(context: Context) -> Done:
    """Start what may start, and wake it."""
    now = context.clock.now()

    def act(connection: Connection) -> Done:
        dags = claims.claim_dags_with_queued_runs(connection, now=now)
        limits = {dag["dag_id"]: dag["max_active_runs"] or context.settings.max_active_runs_per_dag for dag in dags}
        in_order = {dag["dag_id"] for dag in dags if dag["waits_for_past"]}
        if in_order:
            _make_way(connection, {dag_id: limits[dag_id] for dag_id in in_order})
        startable = startable_runs(connection, limits, in_order, now=now, most=BATCH) if limits else []
        sound = _sound(connection, context, startable, now)
        if sound:
            _start(connection, context, sound, now)
        again = bool(sound) and len(startable) == BATCH
        return Done(len(sound), next_queued_run_due(connection, now=now), again=again)

    return context.database.run(act)


def _make_way(connection: Connection, limits: Mapping[str, int]) -> None:
    """Set running runs back to queued that hold the place of the run that they wait for."""
    found = runs_in_the_way(connection, limits)
    if found:
        locked = claims.claim_running_runs(connection, found)
        # Looked at once more, now that nobody else moves them.
        runs.stand_back(connection, [run for run in runs_in_the_way(connection, limits) if run in locked])


def _sound(connection: Connection, context: Context, startable: Sequence[Row], now: datetime) -> list[Row]:
    """Return the runs whose version can be read; the DAGs of the others, which stay queued, are warned."""
    _, unusable = context.graphs.usable(connection, {run["version_id"] for run in startable})
    held = [(run, unusable[run["version_id"]]) for run in startable if run["version_id"] in unusable]
    context.quarantine.hold(connection, held, now=now)
    return [run for run in startable if run["version_id"] not in unusable]


def _start(connection: Connection, context: Context, startable: Sequence[Row], now: datetime) -> None:
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
    connection: Connection, batch: Sequence[Row], graphs: Mapping[int, Graph], month: date, now: datetime
) -> None:
    if month != month_of(now):
        # A run that waited for a scheduler over the turn of months may belong to one that nobody made ahead.
        partitions.ensure(connection, month)
    new = [row for run in batch for row in instance_rows(graphs[run["version_id"]], run["id"])]
    # A run that starts again has its instances; a mapped task that was expanded must not get a placeholder beside them.
    known = state_counts(connection, [run["id"] for run in batch if run["has_instances"]], month=month)
    new = [row for row in new if row["task_id"] not in known.get(row["dag_run_id"], ())]
    instances.insert_instances(connection, new, month=month, now=now)
