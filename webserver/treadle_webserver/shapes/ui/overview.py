"""The account that looks, the first page, the list of DAGs and the head of a DAG's page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from treadle_webserver.shapes.times import utc


class MeShape(TypedDict):
    """Who looks, what they may do, and what the pages need to know of the installation."""

    username: str
    role: str
    permissions: list[str]
    """What is allowed for everything there is."""
    team_permissions: dict[str, list[str]]
    dag_permissions: dict[str, list[str]]
    version: str
    now: datetime
    timezone: str
    executors: list[str]
    max_active_runs_per_dag: int
    max_active_tasks_per_dag: int


class RecentRunShape(TypedDict):
    """One bar of a DAG's last runs."""

    run_id: str
    state: str
    run_type: str
    run_after: datetime | None
    started_at: datetime | None
    ended_at: datetime | None


class DagRowShape(TypedDict):
    """One DAG in the list, with its newest runs, the newest first."""

    dag_id: str
    name: str
    description: str | None
    file: str
    tags: list[str]
    owners: list[str]
    is_paused: bool
    is_active: bool
    has_import_errors: bool
    is_favorite: bool
    schedule: str | None
    next_run_at: datetime | None
    next_logical_date: datetime | None
    is_at_run_limit: bool
    last_parsed_at: datetime | None
    recent_runs: list[RecentRunShape]


class DagRowsShape(TypedDict):
    """A page of DAGs. ``total`` is left out on a walk by cursor; ``cursor`` reads on."""

    dags: list[DagRowShape]
    total: int | None
    next_cursor: str | None


class DagCountsShape(TypedDict):
    """How many DAGs each tab of the list has, and what can be filtered by."""

    all: int
    unpaused: int
    paused: int
    broken: int
    running: int
    favorites: int
    tags: list[str]
    owners: list[str]


class WarningShape(TypedDict):
    """What the DAG processor or the scheduler has to say about a DAG."""

    kind: str
    message: str


class DagHeadShape(DagRowShape):
    """The head of a DAG's page."""

    version_number: int | None
    timezone: str
    doc_md: str | None
    queued_runs: int
    running_runs: int
    max_active_runs: int
    import_error: str | None
    warnings: list[WarningShape]
    params: dict[str, Any]
    has_params: bool
    is_backfillable: bool


class DaemonShape(TypedDict):
    """One process of the installation. A scheduler tells of each executor what keeps it from starting attempts."""

    id: str
    kind: str
    hostname: str
    pid: int
    is_alive: bool
    started_at: datetime | None
    heartbeat_at: datetime | None
    executors: dict[str, Any] | None


class FailedRunShape(TypedDict):
    """A run that failed lately."""

    dag_id: str
    dag_name: str
    run_id: str
    run_after: datetime | None
    started_at: datetime | None
    ended_at: datetime | None


class PoolUseShape(TypedDict):
    """A pool and its slots; ``slots`` and ``open`` are null where there is no limit."""

    name: str
    slots: int | None
    running: int
    queued: int
    scheduled: int
    deferred: int
    occupied: int
    open: int | None


class BrokenFileShape(TypedDict):
    """A file that cannot be imported, with the first line of why."""

    id: int
    file: str
    line: int | None
    message: str
    occurred_at: datetime | None


class ComingRunShape(TypedDict):
    """A run to come."""

    dag_id: str
    dag_name: str
    run_after: datetime | None
    logical_date: datetime | None
    schedule: str | None


class ForecastRunShape(TypedDict):
    """A run that a schedule will make."""

    dag_id: str
    run_after: datetime


class ForecastHourShape(TypedDict):
    """How many runs begin in an hour to come."""

    start: datetime
    runs: int


class ForecastShape(TypedDict):
    """What schedules will make until ``known_until``: later than that was not worked out, there being so much."""

    now: datetime
    until: datetime
    known_until: datetime
    hours: list[ForecastHourShape]
    runs: list[ForecastRunShape]
    unknown: list[str]
    """DAGs whose timetable only a process of its own can ask; of them only the next run is told."""


class HomeShape(TypedDict):
    """The first page."""

    now: datetime
    daemons: list[DaemonShape]
    missing_daemons: list[str]
    """Kinds of daemons that are needed and of which none is alive."""
    schedule_lag_seconds: float
    dags: dict[str, int]
    runs: dict[str, int]
    """``queued`` and ``running`` now, ``failed`` and ``success`` in the last 24 hours."""
    tasks: dict[str, int]
    failed_runs: list[FailedRunShape]
    pools: list[PoolUseShape]
    import_errors: list[BrokenFileShape]
    import_error_count: int
    coming_runs: list[ComingRunShape]
    open_human_steps: int
    failing_watchers: int
    """Watchers of assets that fail and are begun anew."""


def recent_run_shape(row: Mapping[str, Any]) -> RecentRunShape:
    """Return a run as a bar."""
    return {
        "run_id": row["run_id"],
        "state": row["state"],
        "run_type": row["run_type"],
        "run_after": utc(row["run_after"]),
        "started_at": utc(row["started_at"]),
        "ended_at": utc(row["ended_at"]),
    }


def dag_row_shape(row: Mapping[str, Any], recent: Iterable[Mapping[str, Any]]) -> DagRowShape:
    """Return a row of ``queries.ui.dag_list``."""
    return {
        "dag_id": row["dag_id"],
        "name": row["display_name"] or row["dag_id"],
        "description": row["description"],
        "file": row["file"],
        "tags": row["tags"],
        "owners": row["owners"],
        "is_paused": row["is_paused"],
        "is_active": row["is_active"],
        "has_import_errors": row["has_import_errors"],
        "is_favorite": row["is_favorite"],
        "schedule": row["schedule_summary"],
        "next_run_at": utc(row["next_run_at"]),
        "next_logical_date": utc(row["next_logical_date"]),
        "is_at_run_limit": row["at_run_limit"],
        "last_parsed_at": utc(row["last_parsed_at"]),
        "recent_runs": [recent_run_shape(one) for one in recent],
    }


def daemon_shape(row: Mapping[str, Any]) -> DaemonShape:
    """Return a row of ``process``."""
    return {
        "id": str(row["id"]),
        "kind": row["kind"],
        "hostname": row["hostname"],
        "pid": row["pid"],
        "is_alive": row["is_alive"],
        "started_at": utc(row["started_at"]),
        "heartbeat_at": utc(row["heartbeat_at"]),
        "executors": row["executors"] if isinstance(row["executors"], dict) else None,
    }


def failed_run_shape(row: Mapping[str, Any]) -> FailedRunShape:
    """Return a row of ``home.failed_runs``."""
    return {
        "dag_id": row["dag_id"],
        "dag_name": row["display_name"] or row["dag_id"],
        "run_id": row["run_id"],
        "run_after": utc(row["run_after"]),
        "started_at": utc(row["started_at"]),
        "ended_at": utc(row["ended_at"]),
    }


def pool_use_shape(row: Mapping[str, Any]) -> PoolUseShape:
    """Return a row of ``queries.pools``."""
    return {
        "name": row["name"],
        "slots": None if row["slots"] == -1 else row["slots"],
        "running": row["running"],
        "queued": row["queued"],
        "scheduled": row["scheduled"],
        "deferred": row["deferred"],
        "occupied": row["occupied"],
        "open": row["open"],
    }


def broken_file_shape(row: Mapping[str, Any]) -> BrokenFileShape:
    """Return a row of ``home.import_errors``."""
    return {
        "id": row["id"],
        "file": row["file"],
        "line": row["line"],
        "message": row["message"].partition("\n")[0],
        "occurred_at": utc(row["occurred_at"]),
    }


def coming_run_shape(row: Mapping[str, Any]) -> ComingRunShape:
    """Return a row of ``home.coming_runs``."""
    return {
        "dag_id": row["dag_id"],
        "dag_name": row["display_name"] or row["dag_id"],
        "run_after": utc(row["next_run_at"]),
        "logical_date": utc(row["next_logical_date"]),
        "schedule": row["schedule_summary"],
    }
