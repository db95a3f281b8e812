"""Assets, aliases, events and what waits for consumers, as answers show them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from treadle_metadata import audit
from treadle_webserver.shapes.times import utc


class DagReferenceShape(TypedDict):
    """A DAG that an asset schedules."""

    dag_id: str
    created_at: datetime | None
    updated_at: datetime | None


class TaskReferenceShape(DagReferenceShape):
    """A task that updates or reads an asset."""

    task_id: str


class AliasShape(TypedDict):
    """An alias."""

    id: int
    name: str
    group: str


class LastEventShape(TypedDict):
    """The newest event of an asset, if it has any."""

    id: int | None
    timestamp: datetime | None


class AssetShape(TypedDict):
    """An asset. ``watchers`` stays empty until triggers can make events."""

    id: int
    name: str
    uri: str
    group: str
    extra: dict[str, Any]
    created_at: datetime | None
    updated_at: datetime | None
    scheduled_dags: list[DagReferenceShape]
    producing_tasks: list[TaskReferenceShape]
    consuming_tasks: list[TaskReferenceShape]
    aliases: list[AliasShape]
    watchers: list[dict[str, Any]]
    last_asset_event: LastEventShape


class AssetListShape(TypedDict):
    """A page of assets."""

    assets: list[AssetShape]
    total_entries: int


class AliasListShape(TypedDict):
    """A page of aliases."""

    asset_aliases: list[AliasShape]
    total_entries: int


class CreatedRunShape(TypedDict):
    """A run that was made of an event."""

    run_id: str
    dag_id: str
    logical_date: datetime | None
    start_date: datetime | None
    end_date: datetime | None
    state: str
    data_interval_start: datetime | None
    data_interval_end: datetime | None
    partition_key: str | None


class AssetEventShape(TypedDict):
    """One update of an asset; values under names that sound secret are ``***``."""

    id: int
    asset_id: int
    uri: str
    name: str
    group: str
    extra: dict[str, Any]
    source_task_id: str | None
    source_dag_id: str | None
    source_run_id: str | None
    source_map_index: int
    created_dagruns: list[CreatedRunShape]
    timestamp: datetime | None
    partition_key: str | None


class AssetEventListShape(TypedDict):
    """A page of events."""

    asset_events: list[AssetEventShape]
    total_entries: int | None
    total_entries_limit: int | None
    next_cursor: str | None
    previous_cursor: str | None


class QueuedEventShape(TypedDict):
    """Events of an asset that wait for a consumer, since the oldest of them."""

    dag_id: str
    asset_id: int
    created_at: datetime | None
    dag_display_name: str


class QueuedEventListShape(TypedDict):
    """All that waits."""

    queued_events: list[QueuedEventShape]
    total_entries: int


Row = Mapping[str, Any]


def asset_shape(row: Row) -> AssetShape:
    """Return an asset of ``queries.assets``."""
    last = row["last_event"]
    return {
        "id": row["id"],
        "name": row["name"],
        "uri": row["uri"],
        "group": row["group_name"],
        "extra": audit.masked(row["extra"]),
        "created_at": utc(row["created_at"]),
        "updated_at": utc(row["updated_at"]),
        "scheduled_dags": [_dag_reference(one) for one in row["scheduled_dags"]],
        "producing_tasks": [_task_reference(one) for one in row["producing_tasks"]],
        "consuming_tasks": [_task_reference(one) for one in row["consuming_tasks"]],
        "aliases": [alias_shape(one) for one in row.get("aliases", ())],
        "watchers": [],
        "last_asset_event": {"id": last and last["id"], "timestamp": utc(last and last["happened_at"])},
    }


def alias_shape(row: Row) -> AliasShape:
    """Return an alias."""
    return {"id": row["id"], "name": row["name"], "group": row["group_name"]}


def event_shape(row: Row) -> AssetEventShape:
    """Return an event of ``queries.assets``."""
    index = row["source_map_index"]
    return {
        "id": row["id"],
        "asset_id": row["asset_id"],
        "uri": row["uri"],
        "name": row["name"],
        "group": row["group_name"],
        "extra": audit.masked(row["extra"]),
        "source_task_id": row["source_task_id"],
        "source_dag_id": row["source_dag_id"],
        "source_run_id": row["source_run_id"],
        "source_map_index": -1 if index is None else index,
        "created_dagruns": [_created_run(run) for run in row["created_runs"]],
        "timestamp": utc(row["happened_at"]),
        "partition_key": row["partition_key"],
    }


def queued_shape(row: Row) -> QueuedEventShape:
    """Return what waits for one consumer of one asset."""
    return {
        "dag_id": row["dag_id"],
        "asset_id": row["asset_id"],
        "created_at": utc(row["happened_at"]),
        "dag_display_name": row["dag_display_name"],
    }


def _dag_reference(row: Row) -> DagReferenceShape:
    return {"dag_id": row["dag_id"], "created_at": utc(row["created_at"]), "updated_at": utc(row["created_at"])}


def _task_reference(row: Row) -> TaskReferenceShape:
    return {**_dag_reference(row), "task_id": row["task_id"]}


def _created_run(run: Row) -> CreatedRunShape:
    return {
        "run_id": run["run_id"],
        "dag_id": run["dag_id"],
        "logical_date": utc(run["logical_date"]),
        "start_date": utc(run["started_at"]),
        "end_date": utc(run["ended_at"]),
        "state": run["state"],
        "data_interval_start": utc(run["interval_start"]),
        "data_interval_end": utc(run["interval_end"]),
        "partition_key": run["partition_key"],
    }
