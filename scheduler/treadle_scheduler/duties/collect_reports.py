"""Take what executors know of attempts that will never report: lost with their host, rejected, or handed back.

One that was lost while it ran, or that nobody can run, is charged; one that had not started, or that is handed back by
an executor that was stopped, goes back free of charge. Called in each beat, and once more when the scheduler stops.
What was taken and could not be stored is kept for the next beat; an executor that fails costs the others nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection

from treadle_executors.executor import ExecutorEvent
from treadle_metadata import admission, callbacks, execution
from treadle_metadata.execution import Place
from treadle_metadata.states import TaskState
from treadle_scheduler.context import Context, Done

log = logging.getLogger(__name__)


def collect_reports(context: Context) -> Done:
    """Charge or take back the attempts that executors report as lost, rejected or handed back."""
    for name, executor in context.executors.items():
        try:
            context.untold += executor.events()
        except Exception:
            log.exception("executor %r failed to tell what happened; it is asked again in the next beat", name)
    events = list(context.untold)
    if events:
        context.database.run(lambda connection: _settle(connection, context, events))
        context.untold.clear()
    return Done(len(events))


def _settle(connection: Connection, context: Context, events: Sequence[ExecutorEvent]) -> None:
    now = context.clock.now()
    places = admission.places_of(connection, [event.attempt_id for event in events])
    never_started: list[Place] = []
    over: dict[tuple[str, str], list[Place]] = {}
    of_callbacks: dict[tuple[str, str], list[UUID]] = {}
    for event in events:
        why = (event.kind, event.reason)
        if event.attempt_id not in places:
            of_callbacks.setdefault(why, []).append(event.attempt_id)
            continue
        instance, month, state = places[event.attempt_id]
        if event.kind != "rejected" and state == TaskState.QUEUED:
            never_started.append((event.attempt_id, instance, month))
        else:
            over.setdefault(why, []).append((event.attempt_id, instance, month))
    execution.take_back(connection, never_started)
    for (kind, reason), attempt_ids in of_callbacks.items():
        end = callbacks.refuse if kind == "rejected" else callbacks.lose
        end(connection, attempt_ids, reason, now=now)
    for (kind, reason), lost in over.items():
        end_attempts = execution.hand_back if kind == "handed_back" else execution.lose
        end_attempts(connection, lost, reason, now=now)
