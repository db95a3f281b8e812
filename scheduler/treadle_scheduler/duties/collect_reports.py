"""Take what executors know of attempts that will never report: lost with their host, or rejected.

One that ran, or that nobody can run, is charged; one that was lost before it started goes back, free of charge.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from sqlalchemy import Connection

from treadle_executors.executor import ExecutorEvent
from treadle_metadata import admission, execution
from treadle_metadata.states import TaskState
from treadle_metadata.transitions import attempts
from treadle_scheduler.context import Context, Done


def collect_reports(context: Context) -> Done:
    """Charge or take back the attempts that executors report as lost or rejected."""
    events = [event for executor in context.executors.values() for event in executor.events()]
    if events:
        context.database.run(lambda connection: _settle(connection, context, events))
    return Done(len(events))


def _settle(connection: Connection, context: Context, events: Sequence[ExecutorEvent]) -> None:
    places = admission.places_of(connection, [event.attempt_id for event in events])
    charged: dict[str, list[tuple[UUID, int, date]]] = {}
    for event in events:
        if event.attempt_id not in places:
            continue
        instance, month, state = places[event.attempt_id]
        if event.kind == "lost" and state == TaskState.QUEUED:
            attempts.take_back(connection, [instance], [event.attempt_id], month=month)
        else:
            charged.setdefault(event.reason, []).append((event.attempt_id, instance, month))
    for reason, lost in charged.items():
        execution.lose(connection, lost, reason, now=context.clock.now())
