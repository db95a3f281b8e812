"""Fire the deadlines that runs have missed: each once, whichever scheduler claims it (case A57).

Firing writes the callback's row in the transaction that marks the deadline missed; ``run_callbacks`` hands it over. A
crash before the commit leaves the deadline for whoever looks next.
"""

from __future__ import annotations

from sqlalchemy import Connection

from treadle_metadata import deadlines
from treadle_scheduler.context import HELD_ELSEWHERE, Context, Done


def fire_deadlines(context: Context) -> Done:
    """Fire a batch of missed deadlines, have their callbacks handed over, and look again when the next one is due."""
    now = context.clock.now()

    def act(connection: Connection) -> Done:
        fired = deadlines.fire(connection, now=now)
        due_at = deadlines.next_due(connection)
        if due_at is not None:
            due_at = max(due_at, now + HELD_ELSEWHERE)
        return Done(fired, due_at, again=fired > 0)

    return context.database.run(act)
