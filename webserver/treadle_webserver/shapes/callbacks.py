"""Callbacks that the server has run, and deadlines, as answers show them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from treadle_webserver.shapes.times import utc


class CallbackShape(TypedDict):
    """One callback. ``task_id`` and ``map_index`` name the task instance that it is about, if it is about one."""

    id: int
    dag_id: str
    dag_run_id: str
    task_id: str | None
    map_index: int | None
    event: str
    state: str
    reason: str | None
    created_at: datetime | None
    start_date: datetime | None
    end_date: datetime | None
    hostname: str | None
    error: dict[str, Any] | None


class CallbackListShape(TypedDict):
    """The callbacks of a run."""

    callbacks: list[CallbackShape]
    total_entries: int


class DeadlineShape(TypedDict):
    """One deadline. ``missed_at`` is null while the run may still keep it."""

    id: int
    dag_id: str
    dag_run_id: str
    alert_name: str | None
    reference: str
    base_time: datetime | None
    deadline_time: datetime | None
    missed: bool
    missed_at: datetime | None
    callback: str | None


class DeadlineListShape(TypedDict):
    """The deadlines of a run."""

    deadlines: list[DeadlineShape]
    total_entries: int


def callback_shape(row: Mapping[str, Any]) -> CallbackShape:
    """Return a callback's answer."""
    return {
        "id": row["id"],
        "dag_id": row["dag_id"],
        "dag_run_id": row["run_id"],
        "task_id": row["task_id"],
        "map_index": row["map_index"],
        "event": row["event"],
        "state": row["state"],
        "reason": row["facts"].get("reason"),
        "created_at": utc(row["created_at"]),
        "start_date": utc(row["started_at"]),
        "end_date": utc(row["ended_at"]),
        "hostname": row["hostname"],
        "error": row["error"],
    }


def deadline_shape(row: Mapping[str, Any]) -> DeadlineShape:
    """Return a deadline's answer."""
    return {
        "id": row["id"],
        "dag_id": row["dag_id"],
        "dag_run_id": row["run_id"],
        "alert_name": row["name"],
        "reference": row["reference"],
        "base_time": utc(row["base_at"]),
        "deadline_time": utc(row["due_at"]),
        "missed": row["missed_at"] is not None,
        "missed_at": utc(row["missed_at"]),
        "callback": row["callback"],
    }
