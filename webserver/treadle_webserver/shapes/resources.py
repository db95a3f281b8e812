"""Pools, variables, connections, XComs, backfills, events, import errors and warnings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from treadle_webserver.shapes.times import BUNDLE, utc


class PoolShape(TypedDict):
    """A pool; ``open_slots`` is null where it has no limit."""

    name: str
    slots: int
    description: str | None
    include_deferred: bool
    occupied_slots: int
    running_slots: int
    queued_slots: int
    scheduled_slots: int
    deferred_slots: int
    open_slots: int | None
    sensor_slots: int
    """Treadle's own: slots in which sensors wait, in mode poke."""
    team_name: str | None
    warning: str | None
    """Treadle's own: that such sensors hold all of its slots, and which."""


class PoolListShape(TypedDict):
    """A page of pools."""

    pools: list[PoolShape]
    total_entries: int


class VariableShape(TypedDict):
    """A variable; the value is ``***`` where the key sounds secret."""

    key: str
    value: str
    description: str | None
    is_encrypted: bool
    team_name: str | None


class VariableListShape(TypedDict):
    """A page of variables."""

    variables: list[VariableShape]
    total_entries: int


class ConnectionShape(TypedDict):
    """A connection; ``password`` and ``extra`` are ``***`` where they are set: they are never returned (case F8)."""

    connection_id: str
    conn_type: str
    description: str | None
    host: str | None
    login: str | None
    schema: str | None
    port: int | None
    password: str | None
    extra: str | None
    team_name: str | None


class ConnectionListShape(TypedDict):
    """A page of connections."""

    connections: list[ConnectionShape]
    total_entries: int


class ConnectionTestShape(TypedDict):
    """Whether something listens at a connection's address, and what was found."""

    status: bool
    message: str


class XComEntryShape(TypedDict):
    """An XCom without its value."""

    key: str
    timestamp: datetime | None
    logical_date: datetime | None
    map_index: int
    task_id: str
    dag_id: str
    run_id: str
    run_after: datetime | None
    dag_display_name: str
    task_display_name: str


class XComShape(XComEntryShape):
    """An XCom with its value: plain JSON, or its text when asked for."""

    value: Any


class XComListShape(TypedDict):
    """A page of XComs."""

    xcom_entries: list[XComEntryShape]
    total_entries: int


class BackfillShape(TypedDict):
    """A backfill."""

    id: int
    dag_id: str
    dag_display_name: str
    from_date: datetime | None
    to_date: datetime | None
    dag_run_conf: dict[str, Any] | None
    is_paused: bool
    reprocess_behavior: str
    run_backwards: bool
    max_active_runs: int
    created_at: datetime | None
    completed_at: datetime | None
    updated_at: datetime | None


class BackfillListShape(TypedDict):
    """A page of backfills."""

    backfills: list[BackfillShape]
    total_entries: int


class EventShape(TypedDict):
    """One audited change."""

    event_log_id: int
    when: datetime | None
    dag_id: str | None
    dag_display_name: str | None
    task_id: str | None
    task_display_name: str | None
    run_id: str | None
    map_index: int | None
    try_number: int | None
    event: str
    logical_date: datetime | None
    owner: str
    extra: str | None


class EventListShape(TypedDict):
    """A page of audited changes."""

    event_logs: list[EventShape]
    total_entries: int | None
    total_entries_limit: int | None
    next_cursor: str | None
    previous_cursor: str | None


class ImportErrorShape(TypedDict):
    """A file that could not be imported. ``line`` is Treadle's own."""

    import_error_id: int
    timestamp: datetime | None
    filename: str
    bundle_name: str
    stack_trace: str
    line: int | None


class ImportErrorListShape(TypedDict):
    """A page of import errors."""

    import_errors: list[ImportErrorShape]
    total_entries: int


class WarningShape(TypedDict):
    """What is doubtful about a DAG."""

    dag_id: str
    warning_type: str
    message: str
    timestamp: datetime | None
    dag_display_name: str


class WarningListShape(TypedDict):
    """A page of warnings."""

    dag_warnings: list[WarningShape]
    total_entries: int


def pool_shape(row: Mapping[str, Any]) -> PoolShape:
    """Return a row of ``queries.pools`` as a pool."""
    return {
        "name": row["name"],
        "slots": row["slots"],
        "description": row["description"],
        "include_deferred": row["include_deferred"],
        "occupied_slots": row["occupied"],
        "running_slots": row["running"],
        "queued_slots": row["queued"],
        "scheduled_slots": row["scheduled"],
        "deferred_slots": row["deferred"],
        "open_slots": row["open"],
        "sensor_slots": row["sensors"],
        "team_name": row["team"] or None,
        "warning": row["warning"],
    }


def connection_shape(row: Mapping[str, Any]) -> ConnectionShape:
    """Return a row of ``queries.connections`` as a connection."""
    return {
        "connection_id": row["conn_id"],
        "conn_type": row["conn_type"],
        "description": row["description"],
        "host": row["host"],
        "login": row["login"],
        "schema": row["schema"],
        "port": row["port"],
        "password": "***" if row["has_password"] else None,
        "extra": "***" if row["has_extra"] else None,
        "team_name": row["team"] or None,
    }


def xcom_entry_shape(row: Mapping[str, Any]) -> XComEntryShape:
    """Return a row of ``queries.xcoms`` as an XCom without its value."""
    return {
        "key": row["key"],
        "timestamp": utc(row["created_at"]),
        "logical_date": utc(row["logical_date"]),
        "map_index": row["map_index"],
        "task_id": row["task_id"],
        "dag_id": row["dag_id"],
        "run_id": row["run_id"],
        "run_after": utc(row["run_after"]),
        "dag_display_name": row["dag_display_name"] or row["dag_id"],
        "task_display_name": row["task_id"],
    }


def backfill_shape(row: Mapping[str, Any]) -> BackfillShape:
    """Return a row of ``queries.backfills`` as a backfill."""
    return {
        "id": row["id"],
        "dag_id": row["dag_id"],
        "dag_display_name": row["dag_display_name"] or row["dag_id"],
        "from_date": utc(row["from_date"]),
        "to_date": utc(row["to_date"]),
        "dag_run_conf": row["conf"],
        "is_paused": row["is_paused"],
        "reprocess_behavior": row["reprocess_behavior"],
        "run_backwards": row["run_backwards"],
        "max_active_runs": row["max_active_runs"],
        "created_at": utc(row["created_at"]),
        "completed_at": utc(row["completed_at"]),
        "updated_at": utc(row["completed_at"] or row["created_at"]),
    }


def event_shape(row: Mapping[str, Any]) -> EventShape:
    """Return a row of ``queries.events`` as an event."""
    return {
        "event_log_id": row["id"],
        "when": utc(row["happened_at"]),
        "dag_id": row["dag_id"],
        "dag_display_name": row["dag_id"],
        "task_id": row["task_id"],
        "task_display_name": row["task_id"],
        "run_id": row["run_id"],
        "map_index": row["map_index"],
        "try_number": None,
        "event": row["event"],
        "logical_date": None,
        "owner": row["actor"],
        "extra": json.dumps(row["detail"]) if row["detail"] else None,
    }


def import_error_shape(row: Mapping[str, Any]) -> ImportErrorShape:
    """Return a row of ``queries.dags.list_import_errors`` as an import error."""
    return {
        "import_error_id": row["id"],
        "timestamp": utc(row["occurred_at"]),
        "filename": row["file"],
        "bundle_name": BUNDLE,
        # Airflow's name holds all there is to say: what is wrong, with the limit it met, and where.
        "stack_trace": "\n\n".join(filter(None, (row["message"], row["stacktrace"]))),
        "line": row["line"],
    }


def warning_shape(row: Mapping[str, Any]) -> WarningShape:
    """Return a row of ``queries.dags.list_warnings`` as a warning."""
    return {
        "dag_id": row["dag_id"],
        "warning_type": row["kind"],
        "message": row["message"],
        "timestamp": utc(row["noticed_at"]),
        "dag_display_name": row["display_name"] or row["dag_id"],
    }
