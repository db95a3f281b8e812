"""Journals of durable steps and their steps, as answers show them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from treadle import xcom
from treadle_webserver.shapes.times import utc


class JournalShape(TypedDict):
    """A task instance's journal. ``refused_plan``: the version of the code that met steps of another, ``plan``."""

    task_id: str
    map_index: int
    state: str
    opened_at: datetime | None
    steps: int
    waiting: int
    due_at: datetime | None
    plan: str
    refused_plan: str | None


class JournalListShape(TypedDict):
    """The journals of a run."""

    journals: list[JournalShape]
    total_entries: int


class StepShape(TypedDict):
    """A recorded step, or one that waits. ``value`` is shown as plain JSON."""

    number: int
    name: str
    inputs: str
    kind: str
    state: str
    begun_at: datetime | None
    done_at: datetime | None
    due_at: datetime | None
    idempotency_key: str
    value: Any


class StepListShape(TypedDict):
    """The steps of a task instance."""

    steps: list[StepShape]
    total_entries: int


class AcceptedShape(TypedDict):
    """The version of the code that goes on."""

    plan: str


class DiscardedShape(TypedDict):
    """Whether the task runs again for it."""

    runs_again: bool


class PostedShape(TypedDict):
    """The awakeable that has its value now."""

    name: str


def journal_shape(row: Mapping[str, Any]) -> JournalShape:
    """Return a journal's answer."""
    return {
        "task_id": row["task_id"],
        "map_index": row["map_index"],
        "state": row["state"],
        "opened_at": utc(row["opened_at"]),
        "steps": row["steps"],
        "waiting": row["waiting"],
        "due_at": utc(row["due_at"]),
        "plan": row["plan"],
        "refused_plan": row["refused_plan"],
    }


def step_shape(row: Mapping[str, Any]) -> StepShape:
    """Return a step's answer."""
    return {
        "number": row["number"],
        "name": row["name"],
        "inputs": row["inputs"],
        "kind": row["kind"],
        "state": row["state"],
        "begun_at": utc(row["begun_at"]),
        "done_at": utc(row["done_at"]),
        "due_at": utc(row["due_at"]),
        "idempotency_key": row["idempotency_key"],
        "value": None if row["value"] is None else xcom.to_plain(row["value"]),
    }
