"""Look at the runs that something happened to, and move their tasks and themselves on.

A beat claims due wake-ups, forgets them, reads the states of the instances that they name, decides purely
(``readiness``), and writes one statement for each kind of change. A running run in which nothing changed costs nothing
(design section 3.1). Wake-ups are forgotten before states are read: one that commits in between is seen next time. A
run whose evaluation fails is set aside, and the others of its batch are advanced without it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection

from treadle_metadata import claims
from treadle_metadata.connection import is_passing
from treadle_metadata.planning import forget_wakeups, next_wakeup
from treadle_metadata.transitions import runs
from treadle_scheduler.advancing import Woken, advance
from treadle_scheduler.context import HELD_ELSEWHERE, Context, Done

log = logging.getLogger(__name__)


def advance_runs(context: Context) -> Done:
    """Move the woken runs on."""
    try:
        return _beat(context, _together)
    except Exception as error:
        if is_passing(error):
            raise
        log.warning("runs could not be advanced together, they are advanced one by one", exc_info=True)
        return _beat(context, _one_by_one)


def _beat(context: Context, way: Any) -> Done:
    """Advance one batch of woken runs in one transaction; what it has entered counts only if it commits."""
    now = context.clock.now()
    most = context.settings.runs_per_beat
    touched: set[int] = set()

    def act(connection: Connection) -> Done:
        context.memory.forget(touched)
        woken = claims.claim_woken_runs(connection, now=now, most=most)
        touched.update(run["id"] for run in woken)
        changed, retrying = forget_wakeups(connection, [run["id"] for run in woken], now=now)
        ended: int = way(connection, context, woken, Woken(changed, retrying), now)
        due_at = next_wakeup(connection)
        if due_at is not None and due_at <= now:
            due_at = now + HELD_ELSEWHERE
        return Done(len(woken), due_at, again=len(woken) == most or ended > 0)

    try:
        return context.database.run(act)
    except BaseException:
        context.memory.forget(touched)
        context.quarantine.doubt()
        raise


def _together(
    connection: Connection, context: Context, woken: Sequence[Mapping[str, Any]], why: Woken, now: datetime
) -> int:
    """Advance all runs in a few statements; return how many ended."""
    ended = 0
    for month, batch in groupby(sorted(woken, key=itemgetter("month")), key=itemgetter("month")):
        ended += advance(connection, context, list(batch), why, month=month, now=now)
    context.quarantine.release(connection, woken)
    return ended


def _one_by_one(
    connection: Connection, context: Context, woken: Sequence[Mapping[str, Any]], why: Woken, now: datetime
) -> int:
    """Advance each run by itself and set aside those with which that fails; return how many ended."""
    ended = 0
    for run in woken:
        try:
            with connection.begin_nested():
                ended += advance(connection, context, [run], why, month=run["month"], now=now)
                context.quarantine.release(connection, [run])
        except Exception as error:
            if is_passing(error):
                raise
            context.memory.forget([run["id"]])
            # What it was woken for is forgotten, so no other scheduler may go on from what it remembers.
            runs.remember(connection, [run["id"]], context.memory.scheduler)
            context.quarantine.put(connection, run, error, now=now)
    return ended
