"""Let deferred tasks go on whose time to wait is over: each once, whichever scheduler claims it.

The time counts from the deferral to the event; an execution timeout spans all deferrals of a try (case D1). The task
goes on with an error, so that its retries and callbacks are respected, and its trigger is cancelled.
"""

from __future__ import annotations

from sqlalchemy import Connection

from treadle_metadata import deferrals
from treadle_scheduler.context import HELD_ELSEWHERE, Context, Done


def end_waits(context: Context) -> Done:
    """End a batch of overdue waits, and look again when the next one is due."""
    now = context.clock.now()

    def act(connection: Connection) -> Done:
        count, due_at = deferrals.expire(connection, now=now)
        if due_at is not None:
            due_at = max(due_at, now + HELD_ELSEWHERE)
        return Done(count, due_at, again=count > 0)

    return context.database.run(act)
