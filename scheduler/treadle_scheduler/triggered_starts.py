"""Tasks that start from a trigger: deferred as soon as their turn has come, without a worker.

Called by ``queue_tasks`` within its transaction. The attempt is recorded as one that started and deferred at once, so
that everything after it is as with any deferred task.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from treadle_metadata import deferrals, execution
from treadle_metadata.deciding.graph import Graph
from treadle_metadata.transitions.queueing import Picked
from treadle_scheduler.context import Context


def starting_from_triggers(
    connection: Connection,
    context: Context,
    batch: Sequence[Mapping[str, Any]],
    picked: Sequence[Picked],
    graphs: Mapping[int, Graph],
    *,
    month: date,
    now: datetime,
    moved: Collection[int],
) -> set[int]:
    """Defer those of just queued instances whose tasks start from a trigger, and do not go on; return their ids."""
    waits = {
        one.id: (one, start)
        for row, one in zip(batch, picked, strict=True)
        if one.id in moved and not row["resumes"]
        for start in [_start_of(row, graphs)]
        if start is not None
    }
    if not waits or context.alone:  # a simulation has no triggerers: such tasks run like any
        return set()
    reports = [_report(one, month, now) | {"deferral": start} for one, start in waits.values()]
    lease_until = now + timedelta(seconds=context.settings.lease_seconds)
    execution.record_starts(connection, reports, now=now, lease_until=lease_until)
    execution.record_finishes(connection, deferrals.sealed(reports, context.crypto()), now=now)
    return set(waits)


def _start_of(row: Mapping[str, Any], graphs: Mapping[int, Graph]) -> Any:
    graph = graphs[row["version_id"]]
    return graph.nodes[graph.index[row["task_id"]]].task.start_trigger


def _report(one: Picked, month: date, now: datetime) -> dict[str, Any]:
    return {
        "attempt_id": str(one.attempt_id),
        "task_instance_id": one.id,
        "month": month,
        "hostname": "",
        "outcome": "deferred",
        "started_at": now,
        "ended_at": now,
        "xcoms": [],
    }
