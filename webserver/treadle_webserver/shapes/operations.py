"""What operations on runs answer: which instances change, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from treadle_metadata.queries.backfills import Progress
from treadle_webserver.shapes.runs import InstanceShape
from treadle_webserver.shapes.times import utc


class ChangeShape(TypedDict):
    """One instance that changes, of another DAG where a marker passes a clear on. ``action``: clear, add (a new task of
    the newest version) or remove."""

    dag_id: str
    dag_run_id: str
    logical_date: datetime | None
    task_id: str
    map_index: int
    state: str
    action: str


class ClearedShape(TypedDict):
    """The instances that were cleared (or would be), and everything that changes. ``changes`` is Treadle's own."""

    task_instances: list[InstanceShape]
    total_entries: int
    changes: list[ChangeShape]


def change_shape(change: Mapping[str, Any]) -> ChangeShape:
    """Return one change of a plan."""
    return {
        "dag_id": change["dag_id"],
        "dag_run_id": change["run_id"],
        "logical_date": utc(change["logical_date"]),
        "task_id": change["task_id"],
        "map_index": change["map_index"],
        "state": change["state"],
        "action": change["action"],
    }


class BackfillDateShape(TypedDict):
    """One date of a backfill and its run."""

    logical_date: datetime | None
    dag_run_id: str
    state: str
    start_date: datetime | None
    end_date: datetime | None


class BackfillProgressShape(TypedDict):
    """How far a backfill is. ``remaining_seconds`` is an estimate, null as long as there is nothing to tell it from."""

    state: str
    runs: dict[str, int]
    total: int
    done: int
    remaining_seconds: float | None
    dates: list[BackfillDateShape]


def progress_shape(far: Progress, dates: Sequence[Mapping[str, Any]]) -> BackfillProgressShape:
    """Return the progress of a backfill."""
    return {
        "state": far.state,
        "runs": dict(far.counts),
        "total": far.total,
        "done": far.done,
        "remaining_seconds": None if far.remaining is None else far.remaining.total_seconds(),
        "dates": [
            {
                "logical_date": utc(one["logical_date"]),
                "dag_run_id": one["run_id"],
                "state": one["state"],
                "start_date": utc(one["started_at"]),
                "end_date": utc(one["ended_at"]),
            }
            for one in dates
        ],
    }
