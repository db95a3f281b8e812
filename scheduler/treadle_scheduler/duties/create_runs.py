"""Make the runs that DAGs' schedules call for.

The run to make is computed afresh from the newest automated run and the present, never taken from what was planned
earlier: a DAG that was paused for a while gets what its catch-up policy says (case A11). The unique (DAG, logical
date) makes a second scheduler's run the same run.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection

from treadle.timetables.base import DagRunInfo, DataInterval
from treadle.timetables.factory import from_document
from treadle_metadata import claims
from treadle_metadata.deciding.graph import Graph
from treadle_metadata.identifiers import month_of
from treadle_metadata.planning import any_held_back, next_due, plan_next_run, release_run_limits, runs_under_way, warn
from treadle_metadata.transitions import runs
from treadle_scheduler.calendar import next_run
from treadle_scheduler.context import Context, Done

log = logging.getLogger(__name__)

BATCH: Final = 50
RECHECK: Final = timedelta(seconds=5)
"""How soon a DAG held back by its run limit is looked at again if the end of its run went unnoticed."""


def create_runs(context: Context) -> Done:
    """Make at most one run for each of a batch of due DAGs."""
    now = context.clock.now()

    def act(connection: Connection) -> Done:
        release_run_limits(connection, default=context.settings.max_active_runs_per_dag, now=now)
        due = claims.claim_due_dags(connection, now=now, most=BATCH)
        if not due:
            return Done(0, _next_look(connection, now))
        graphs = context.graphs.get(connection, [dag["version_id"] for dag in due])
        busy = runs_under_way(connection, [dag["dag_id"] for dag in due], now=now)
        made = sum(
            _make(connection, context, dag, graphs[dag["version_id"]], busy.get(dag["dag_id"], 0), now) for dag in due
        )
        # None of these is due any more unless it has another run to make: look at once for what is.
        return Done(made, now, again=True)

    return context.database.run(act)


def _next_look(connection: Connection, now: datetime) -> datetime | None:
    due = next_due(connection, now=now)
    if not any_held_back(connection):
        return due
    return now + RECHECK if due is None else min(due, now + RECHECK)


def _make(
    connection: Connection, context: Context, dag: Mapping[str, Any], graph: Graph, busy: int, now: datetime
) -> int:
    """Make the run that is due, if any, and plan the one after it; return how many runs were made."""
    last = _last_interval(dag)
    try:
        due, following = _due_and_following(context, graph, last, now)
        limit = _run_limit(context, dag, graph)
    except Exception as error:
        # No calendar may stop the schedules of the other DAGs (case A4): this one makes no run until it is changed.
        log.exception("the schedule of DAG %r gives no next run", graph.dag_id)
        plan_next_run(connection, graph.dag_id, last=last, following=None, at_limit=False)
        warn(connection, graph.dag_id, "schedule", f"The schedule gives no next run: {error!r}", now=now)
        return 0
    if due is None or busy >= limit:
        plan_next_run(connection, graph.dag_id, last=last, following=due or following, at_limit=due is not None)
        return 0
    made = runs.insert_runs(connection, [scheduled_run(graph, due)], month=month_of(now), now=now)
    plan_next_run(connection, graph.dag_id, last=due.data_interval, following=following, at_limit=False)
    return len(made)


def _due_and_following(
    context: Context, graph: Graph, last: DataInterval | None, now: datetime
) -> tuple[DagRunInfo | None, DagRunInfo | None]:
    """Return the run that is due, if one is, and the one that comes after it or, if none is, comes next."""
    style = context.settings.cron_style
    info = next_run(graph.document, last=last, now=now, cron_style=style)
    if info is None or info.run_after > now:
        return None, info
    return info, next_run(graph.document, last=info.data_interval, now=now, cron_style=style)


def _run_limit(context: Context, dag: Mapping[str, Any], graph: Graph) -> int:
    """Return the most runs of a DAG under way at once: its own or the installation's, within its timetable's."""
    limit: int = dag["max_active_runs"] or context.settings.max_active_runs_per_dag
    of_timetable = from_document(graph.document.schedule, default_style=context.settings.cron_style).active_runs_limit
    return limit if of_timetable is None else min(limit, of_timetable)


def scheduled_run(graph: Graph, info: DagRunInfo) -> dict[str, Any]:
    """Return the row of the scheduled run that ``info`` describes."""
    return {
        "dag_id": graph.dag_id,
        "run_id": f"scheduled__{info.run_after.isoformat()}",
        "version_id": graph.version_id,
        "run_type": "scheduled",
        "logical_date": info.logical_date,
        "interval_start": info.data_interval.start,
        "interval_end": info.data_interval.end,
        "run_after": info.run_after,
        "triggered_by": "timetable",
    }


def _last_interval(dag: Mapping[str, Any]) -> DataInterval | None:
    if dag["last_interval_start"] is None:
        return None
    return DataInterval(dag["last_interval_start"], dag["last_interval_end"])
