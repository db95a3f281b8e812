"""Make the runs that DAGs' schedules call for.

The run to make is computed afresh from the newest automated run and the present, never taken from what was planned
earlier: a DAG that was paused for a while gets what its catch-up policy says (case A11). The unique (DAG, logical
date) makes a second scheduler's run the same run.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection

from treadle.timetables.base import DagRunInfo, DataInterval
from treadle.timetables.factory import from_document
from treadle_metadata import claims
from treadle_metadata.identifiers import month_of
from treadle_metadata.planning import next_due, plan_next_run, release_run_limits, runs_under_way
from treadle_metadata.transitions import runs
from treadle_scheduler.calendar import next_run
from treadle_scheduler.context import Context, Done
from treadle_scheduler.graph import Graph

BATCH: Final = 50
RECHECK: Final = timedelta(seconds=5)
"""How soon a DAG held back by its run limit is looked at again if the end of its run went unnoticed."""


def create_runs(context: Context) -> Done:
    """Make at most one run for each of a batch of due DAGs."""
    now = context.clock.now()

    def act(connection: Connection) -> Done:
        released = release_run_limits(connection, default=context.settings.max_active_runs_per_dag)
        due = claims.claim_due_dags(connection, now=now, most=BATCH)
        if not due:
            return Done(0, next_due(connection, now=now) or (now + RECHECK if released else None))
        graphs = context.graphs.get(connection, [dag["version_id"] for dag in due])
        busy = runs_under_way(connection, [dag["dag_id"] for dag in due])
        made = sum(
            _make(connection, context, dag, graphs[dag["version_id"]], busy.get(dag["dag_id"], 0), now) for dag in due
        )
        return Done(made, again=True)

    return context.database.run(act)


def _make(
    connection: Connection, context: Context, dag: Mapping[str, Any], graph: Graph, busy: int, now: datetime
) -> int:
    """Make the run that is due, if any, and plan the one after it; return how many runs were made."""
    style = context.settings.cron_style
    last = _last_interval(dag)
    info = next_run(graph.document, last=last, now=now, cron_style=style)
    if info is None or info.run_after > now:
        plan_next_run(connection, graph.dag_id, last=last, following=info, at_limit=False)
        return 0
    if busy >= _run_limit(context, dag, graph):
        plan_next_run(connection, graph.dag_id, last=last, following=info, at_limit=True)
        return 0
    made = runs.insert_runs(connection, [scheduled_run(graph, info)], month=month_of(now), now=now)
    following = next_run(graph.document, last=info.data_interval, now=now, cron_style=style)
    plan_next_run(connection, graph.dag_id, last=info.data_interval, following=following, at_limit=False)
    return len(made)


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
