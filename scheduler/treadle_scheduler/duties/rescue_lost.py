"""Recover attempts whose lease has run out: the worker, its host or its scheduler is gone.

An attempt that ran is charged once, by whichever scheduler claims it (case A47); one that never started goes back to
scheduled, free of charge (a crash between queue and hand-over; cases A52, A71).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata import callbacks, claims, execution
from treadle_metadata.execution import Place
from treadle_metadata.states import TaskState
from treadle_scheduler.context import Context, Done

BATCH: Final = 500
PERIOD: Final = timedelta(seconds=5)


def rescue_lost(context: Context) -> Done:
    """Rescue a batch of attempts whose lease expired."""
    now = context.clock.now()

    def act(connection: Connection) -> Done:
        expired = claims.claim_expired_attempts(connection, now=now, most=BATCH)
        started, queued = _by_start(expired)
        reason = f"no heartbeat for {context.settings.lease_seconds:g} s: its worker, host or scheduler is gone"
        execution.lose(connection, started, reason, now=now)
        callbacks.rescue(connection, reason, now=now)
        execution.take_back(connection, queued)
        full = len(expired) == BATCH
        # The rescued may be tried again at once; more than a batch of them are rescued in the next beat.
        return Done(len(expired), now if full else now + PERIOD, again=bool(expired))

    return context.database.run(act)


def _by_start(expired: Sequence[Mapping[str, Any]]) -> tuple[list[Place], list[Place]]:
    """Return the attempts that had started, and those that had not."""
    started: list[Place] = []
    queued: list[Place] = []
    for one in expired:
        places = queued if one["state"] == TaskState.QUEUED else started
        places.append((one["attempt_id"], one["id"], one["month"]))
    return started, queued
