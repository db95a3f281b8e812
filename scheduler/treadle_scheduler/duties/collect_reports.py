"""Take what executors know of attempts that will never report: lost with their host, or rejected."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from treadle_executors.executor import ExecutorEvent
from treadle_metadata import admission, execution
from treadle_scheduler.context import Context, Done


def collect_reports(context: Context) -> Done:
    """Charge the attempts that executors report as lost or rejected."""
    events = [event for executor in context.executors.values() for event in executor.events()]
    if events:
        context.database.run(lambda connection: _charge(connection, context, events))
    return Done(len(events))


def _charge(connection: Connection, context: Context, events: Sequence[ExecutorEvent]) -> None:
    places = admission.places_of(connection, [event.attempt_id for event in events])
    now = context.clock.now()
    for event in events:
        if event.attempt_id in places:
            instance, month = places[event.attempt_id]
            execution.lose(connection, [(event.attempt_id, instance, month)], event.reason, now=now)
