"""From the scratch database's rows, when all is over, to a ``Result``. Reads, decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from treadle_metadata.queries.simulation import attempt_outcomes, run_outcomes
from treadle_scheduler.simulation.result import RunOutcome, TaskOutcome

Row = Mapping[str, Any]


def outcomes(connection: Connection, end: datetime) -> tuple[tuple[RunOutcome, ...], tuple[TaskOutcome, ...]]:
    """Return the runs due before ``end``, and their attempts in the order in which they began."""
    runs = {row["id"]: row for row in run_outcomes(connection) if row["run_after"] < end}
    attempts = [row for row in attempt_outcomes(connection) if row["dag_run_id"] in runs and row["started_at"]]
    began: dict[int, datetime] = {}
    for row in attempts:
        first = began.get(row["dag_run_id"])
        began[row["dag_run_id"]] = row["started_at"] if first is None else min(first, row["started_at"])
    return tuple(_run(row, began.get(key)) for key, row in runs.items()), tuple(
        sorted((_task(row, runs[row["dag_run_id"]]) for row in attempts), key=_order)
    )


def _run(row: Row, began: datetime | None) -> RunOutcome:
    return RunOutcome(
        row["dag_id"], row["run_id"], row["run_after"], began or row["started_at"], row["ended_at"], row["state"]
    )


def _task(row: Row, run: Row) -> TaskOutcome:
    return TaskOutcome(
        run["dag_id"],
        run["run_id"],
        row["task_id"],
        row["map_index"],
        row["try_number"],
        row["pool"],
        row["pool_slots"],
        row["started_at"],
        row["ended_at"],
        row["outcome"] if row["ended_at"] is not None else None,
    )


def _order(one: TaskOutcome) -> tuple[datetime, str, str, str, int, int]:
    return (one.started_at, one.dag_id, one.run_id, one.task_id, one.map_index, one.try_number)
