"""Make the runs that DAGs' schedules call for.

The run to make is computed afresh from the newest automated run and the present, never taken from what was planned
earlier: a DAG that was paused for a while gets what its catch-up policy says (case A11). The unique (DAG, logical
date) makes a second scheduler's run the same run. Statements are as many for one due DAG as for a whole batch.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata import claims, dag_warnings, schedules
from treadle_metadata.deciding.graph import Graph
from treadle_metadata.identifiers import month_of
from treadle_metadata.planning import next_due, release_run_limits, runs_under_way
from treadle_metadata.transitions import runs
from treadle_scheduler.calendar import next_plan
from treadle_scheduler.context import Context, Done
from treadle_scheduler.scheduling import (
    Look,
    Outcome,
    limit_of_timetable,
    outcome_of,
    outcome_of_failure,
    outcome_of_unusable,
)

log = logging.getLogger(__name__)

BATCH: Final = 50


def create_runs(context: Context) -> Done:
    """Make at most one run for each of a batch of due DAGs."""
    now = context.clock.now()

    def act(connection: Connection) -> Done:
        release_run_limits(connection, default=context.settings.max_active_runs_per_dag, now=now)
        due = claims.claim_due_dags(connection, now=now, most=BATCH, apart=context.custom.asked())
        if not due:
            return Done(0, _next_look(connection, context, now))
        graphs, unusable = context.graphs.usable(connection, [dag["version_id"] for dag in due])
        busy = runs_under_way(connection, [dag["dag_id"] for dag in due], now=now)
        looked = [
            _outcome(context, dag, graphs[dag["version_id"]], busy.get(dag["dag_id"], 0), now)
            if dag["version_id"] in graphs
            else outcome_of_unusable(dag, unusable[dag["version_id"]], now)
            for dag in due
        ]
        outcomes = [one for one in looked if one is not None]
        made = _write(connection, context, outcomes, now)
        _warn(connection, outcomes, {dag["dag_id"] for dag in due if dag["is_warned"]}, now)
        # None of these is due any more unless it has another run to make: look at once for what is.
        return Done(made, now, again=True)

    return context.database.run(act)


def _next_look(connection: Connection, context: Context, now: datetime) -> datetime | None:
    """Return when to look again; a DAG at its limit is looked at each heartbeat, if its run ended unnoticed."""
    due, is_any_held_back = next_due(connection, now=now)
    if not is_any_held_back:
        return due
    recheck = now + timedelta(seconds=context.settings.heartbeat_seconds)
    return recheck if due is None else min(due, recheck)


def _outcome(context: Context, dag: Mapping[str, Any], graph: Graph, busy: int, now: datetime) -> Outcome | None:
    """Return what is to be written for one DAG; None while its timetable is being asked."""
    look = Look(dag, graph, busy, dag["max_active_runs"] or context.settings.max_active_runs_per_dag, now)
    try:
        look = replace(look, of_timetable=limit_of_timetable(graph, context.settings))
        if look.is_custom:
            plan = context.custom.plan(graph, look.situation)
        else:
            plan = next_plan(graph.document, look.situation, cron_style=context.settings.cron_style)
    except Exception as error:
        # No calendar may stop the schedules of the other DAGs (case A4).
        # One of the user's own is asked every minute: whoever looks on is warned once.
        level = logging.DEBUG if look.is_custom and dag["is_warned"] else logging.WARNING
        told = f": {error}" if look.is_custom else ""
        log.log(level, "the schedule of DAG %r gives no next run%s", graph.dag_id, told, exc_info=not look.is_custom)
        return outcome_of_failure(look, error)
    return None if plan is None else outcome_of(look, plan)


def _write(connection: Connection, context: Context, outcomes: Sequence[Outcome], now: datetime) -> int:
    """Write all of it, one statement of each kind; return how many runs were made."""
    paced = _paced(connection, context, outcomes, now)
    new = [one.run for one in paced if one.run is not None]
    made = runs.insert_runs(connection, new, month=month_of(now), now=now)
    schedules.plan_next_runs(connection, [one.plan for one in paced])
    schedules.store_missed(connection, [row for one in paced for row in one.missed], now=now)
    return len(made)


def _warn(connection: Connection, outcomes: Sequence[Outcome], warned: Set[str], now: datetime) -> None:
    """Warn of schedules that fail, and of those no longer that were ``warned`` of and have been evaluated now."""
    failed = {one.dag_id: one.warning for one in outcomes if one.warning}
    dag_warnings.warn(connection, dag_warnings.SCHEDULE, failed, now=now)
    mended = [one.dag_id for one in outcomes if not one.warning and one.dag_id in warned]
    dag_warnings.withdraw(connection, dag_warnings.SCHEDULE, mended)


def _paced(connection: Connection, context: Context, outcomes: Sequence[Outcome], now: datetime) -> list[Outcome]:
    """Put off the runs that make up for missed times and are too many for this minute (case A67)."""
    most = context.settings.missed_runs_per_minute
    late = [one.dag_id for one in outcomes if one.is_late]
    if not most or not late:
        return list(outcomes)
    put_off = set(late[schedules.take_from_pace(connection, len(late), most=most, now=now) :])
    return [one.put_off() if one.dag_id in put_off else one for one in outcomes]
