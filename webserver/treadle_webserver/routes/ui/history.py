"""A DAG over time: its calendar with the runs planned, and how long its runs and tasks took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Query

from treadle.errors import TreadleError
from treadle_metadata.errors import InvalidRequestError, shown
from treadle_metadata.queries.dags import no_such_dag
from treadle_metadata.queries.ui import history as queries
from treadle_metadata.queries.ui import schedules
from treadle_webserver.forecast import CUSTOM, Planned, runs_to_come, schedule_of
from treadle_webserver.parameters import DagId, TaskId
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.times import seconds_between, utc
from treadle_webserver.shapes.ui.structure import (
    CalendarShape,
    DayShape,
    DurationsShape,
    RunDurationShape,
    TaskPointsShape,
    task_duration_shape,
    task_point_shape,
)

router = APIRouter(prefix="/ui/dags/{dag_id}", tags=["UI"], route_class=RetriedRoute)

_LONGEST: Final = timedelta(days=800)
_PLANNED: Final = 2_000
Runs = Annotated[int, Query(ge=1, le=500)]


@router.get("/calendar")
def get_ui_calendar(
    dag_id: DagId,
    service: ServiceOf,
    since: date,
    until: date,
    timezone: Annotated[str, Query(max_length=100)] = "UTC",
) -> CalendarShape:
    """Return the outcomes of runs by day, from ``since`` to ``until`` (both included), and the runs planned."""
    zone = _zone(timezone)
    if not timedelta(0) <= until - since <= _LONGEST:
        raise InvalidRequestError(f"until must lie after since, by {_LONGEST.days} days at most")
    begin, end = _midnight(since, zone), _midnight(until + timedelta(days=1), zone)
    with service.database.begin() as connection:
        row = schedules.of_dag(connection, dag_id)
        if row is None:
            raise no_such_dag(connection, dag_id)
        found = queries.days(connection, dag_id, since=begin, until=end, zone=timezone)
    planned = _planned(row, end - timedelta(microseconds=1), service)
    return {
        "dag_id": dag_id,
        "timezone": timezone,
        "since": since,
        "until": until,
        "days": _days(found, Counter(one.run_after.astimezone(zone).date() for one in planned)),
        "planned": [{"run_after": one.run_after, "logical_date": utc(one.logical_date)} for one in planned],
        "is_schedule_known": schedule_of(row).kind != CUSTOM,
    }


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise InvalidRequestError(
            f"timezone {shown(name)} is not known; expected a name such as Europe/Zurich"
        ) from None


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone)


def _planned(row: Mapping[str, Any], until: datetime, service: Service) -> list[Planned]:
    if row["is_paused"] or not row["is_active"]:
        return []
    try:
        return list(islice(runs_to_come(row, until=until, cron_style=service.settings.cron_style), _PLANNED))
    except (TreadleError, ValueError):
        # What is wrong with a schedule stands at the head of its page.
        return []


def _days(found: Any, planned: Mapping[date, int]) -> list[DayShape]:
    days: dict[date, DayShape] = {}
    for row in found:
        day = days.setdefault(row["day"], {"day": row["day"], "counts": {}, "planned": 0, "mean_seconds": None})
        day["counts"][row["state"]] = row["number"]
        if row["state"] == "success":
            day["mean_seconds"] = row["seconds"]
    for one, number in planned.items():
        days.setdefault(one, {"day": one, "counts": {}, "planned": 0, "mean_seconds": None})["planned"] = number
    return [days[one] for one in sorted(days)]


@router.get("/durations")
def get_ui_durations(dag_id: DagId, service: ServiceOf, runs: Runs = 50) -> DurationsShape:
    """Return how long the newest runs took, and the median and 95th percentile of each task over them."""
    with service.database.begin() as connection:
        newest = queries.newest_runs(connection, dag_id, runs)
        tasks = queries.task_durations(connection, newest)
    shapes = [_run(row) for row in reversed(newest)]
    took = sorted(one["seconds"] for one in shapes if one["seconds"] is not None and one["state"] == "success")
    return {
        "dag_id": dag_id,
        "runs": shapes,
        "tasks": [task_duration_shape(row) for row in sorted(tasks, key=lambda row: str(row["task_id"]))],
        "median_seconds": _quantile(took, 0.5),
        "p95_seconds": _quantile(took, 0.95),
    }


def _run(row: Mapping[str, Any]) -> RunDurationShape:
    return {
        "run_id": row["run_id"],
        "state": row["state"],
        "run_type": row["run_type"],
        "run_after": utc(row["run_after"]),
        "queue_seconds": seconds_between(row["queued_at"], row["started_at"]),
        "seconds": seconds_between(row["started_at"], row["ended_at"]),
    }


def _quantile(ordered: list[float], share: float) -> float | None:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


@router.get("/durations/{task_id}")
def get_ui_task_durations(dag_id: DagId, task_id: TaskId, service: ServiceOf, runs: Runs = 50) -> TaskPointsShape:
    """Return how long one task took in each of the newest runs."""
    with service.database.begin() as connection:
        points = queries.task_points(connection, queries.newest_runs(connection, dag_id, runs), task_id)
    return {"dag_id": dag_id, "task_id": task_id, "points": [task_point_shape(row) for row in points]}
