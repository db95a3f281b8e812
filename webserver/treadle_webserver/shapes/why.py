"""Answers to "why is it not running?", and what differs between two versions of a DAG."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from treadle.differences import Change, Difference
from treadle_metadata.deciding.reasons import Explanation
from treadle_webserver.shapes.times import utc


class BlockerShape(TypedDict):
    """The object that stands in the way; parts of its ``id`` are parted by slashes."""

    kind: str
    id: str


class WhyShape(TypedDict):
    """Why something does not run. ``until`` is when that ends by itself, where it is known."""

    reason: str
    sentence: str
    blocked_by: BlockerShape | None
    until: datetime | None


class ChangeShape(TypedDict):
    """One changed field; null where there was or is no value."""

    field: str
    old: Any
    new: Any


class TaskChangeShape(TypedDict):
    """What changed in a task that both versions have."""

    task_id: str
    changes: list[ChangeShape]


class EdgeShape(TypedDict):
    """One edge of the graph."""

    upstream_task_id: str
    downstream_task_id: str


class VersionDiffShape(TypedDict):
    """What differs from one version of a DAG to another."""

    dag_id: str
    old_version: int
    new_version: int
    is_same: bool
    source_changed: bool
    tasks_added: list[str]
    tasks_removed: list[str]
    tasks_changed: list[TaskChangeShape]
    edges_added: list[EdgeShape]
    edges_removed: list[EdgeShape]
    schedule: list[ChangeShape]
    dag: list[ChangeShape]


def why_shape(found: Explanation) -> WhyShape:
    """Return an explanation."""
    blocker = found.blocked_by
    return {
        "reason": found.reason.value,
        "sentence": found.sentence,
        "blocked_by": None if blocker is None else {"kind": blocker.kind.value, "id": blocker.id},
        "until": utc(found.until),
    }


def diff_shape(dag_id: str, old: int, new: int, found: Difference, *, source_changed: bool) -> VersionDiffShape:
    """Return what differs from version ``old`` of a DAG to version ``new``."""
    return {
        "dag_id": dag_id,
        "old_version": old,
        "new_version": new,
        "is_same": not found,
        "source_changed": source_changed,
        "tasks_added": list(found.tasks_added),
        "tasks_removed": list(found.tasks_removed),
        "tasks_changed": [{"task_id": one.task_id, "changes": _changes(one.changes)} for one in found.tasks_changed],
        "edges_added": _edges(found.edges_added),
        "edges_removed": _edges(found.edges_removed),
        "schedule": _changes(found.schedule),
        "dag": _changes(found.dag),
    }


def _changes(changes: Iterable[Change]) -> list[ChangeShape]:
    return [{"field": one.field, "old": one.old, "new": one.new} for one in changes]


def _edges(edges: Iterable[tuple[str, str]]) -> list[EdgeShape]:
    return [{"upstream_task_id": upstream, "downstream_task_id": downstream} for upstream, downstream in edges]
