"""What spans DAGs: the graph of assets, the timeline, the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from typing_extensions import TypedDict

from treadle_webserver.shapes.times import utc
from treadle_webserver.shapes.ui.overview import ForecastShape


class AssetNodeShape(TypedDict):
    """An asset, or an alias of assets. ``asset_id`` is null of an alias, and where nothing was ever stored of it."""

    id: str
    kind: Literal["asset", "alias"]
    name: str
    uri: str | None
    group: str | None
    asset_id: int | None
    last_event_at: datetime | None
    last_event_dag_id: str | None
    last_event_run_id: str | None


class AssetDagShape(TypedDict):
    """A DAG that names an asset."""

    dag_id: str
    name: str
    is_paused: bool


class AssetEdgeShape(TypedDict):
    """Who names which asset as what. ``task_id`` is null of a schedule."""

    asset: str
    dag_id: str
    task_id: str | None
    role: Literal["schedule", "inlet", "outlet"]


class GatheredShape(TypedDict):
    """One part of a DAG's asset schedule: how many events have gathered for it since its last run."""

    dag_id: str
    asset: str
    gathered: int
    newest_at: datetime | None


class AssetGraphShape(TypedDict):
    """Assets across all DAGs. ``waiting``: what each consumer has and lacks."""

    assets: list[AssetNodeShape]
    dags: list[AssetDagShape]
    edges: list[AssetEdgeShape]
    waiting: list[GatheredShape]
    is_truncated: bool


class TimelineRunShape(TypedDict):
    """A run on the timeline."""

    dag_id: str
    run_id: str
    state: str
    run_type: str
    queued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None


class PoolLoadShape(TypedDict):
    """The mean slots of a pool that were held, in each equal part of the window; ``slots`` null: no limit."""

    pool: str
    slots: int | None
    held: list[float]


class TimelineShape(TypedDict):
    """Runs that were under way in a window, the load of pools by the tasks of these runs, and the runs to come."""

    since: datetime
    until: datetime
    now: datetime
    runs: list[TimelineRunShape]
    is_truncated: bool
    part_seconds: float
    pools: list[PoolLoadShape]
    forecast: ForecastShape | None


class AuditRowShape(TypedDict):
    """One change: who did what, and the details, masked."""

    id: int
    happened_at: datetime | None
    actor: str
    event: str
    dag_id: str | None
    run_id: str | None
    task_id: str | None
    map_index: int | None
    detail: dict[str, Any]


class AuditRowsShape(TypedDict):
    """A page of the audit log, the newest first."""

    events: list[AuditRowShape]
    next_cursor: str | None


def timeline_run_shape(row: Mapping[str, Any]) -> TimelineRunShape:
    """Return a row of ``timeline.runs_between``."""
    return {
        "dag_id": row["dag_id"],
        "run_id": row["run_id"],
        "state": row["state"],
        "run_type": row["run_type"],
        "queued_at": utc(row["queued_at"]),
        "started_at": utc(row["started_at"]),
        "ended_at": utc(row["ended_at"]),
    }


def audit_row_shape(row: Mapping[str, Any]) -> AuditRowShape:
    """Return a row of ``audit_log``."""
    return {
        "id": row["id"],
        "happened_at": utc(row["happened_at"]),
        "actor": row["actor"],
        "event": row["event"],
        "dag_id": row["dag_id"],
        "run_id": row["run_id"],
        "task_id": row["task_id"],
        "map_index": row["map_index"],
        "detail": row["detail"],
    }
