"""Look at the runs that something happened to, and move their tasks and themselves on.

A beat claims due wake-ups and forgets them, reads the states of the instances that they name, decides purely
(``readiness``), and writes one statement for each kind of change. A running run in which nothing changed costs nothing
(design section 3.1). Wake-ups are forgotten before states are read: one that commits in between is seen next time. A
run whose evaluation fails is set aside, and the others of its batch are advanced without it.
"""

from __future__ import annotations

import logging
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection

from treadle_metadata import claims
from treadle_metadata.claims import WokenRuns
from treadle_metadata.connection import is_passing
from treadle_metadata.planning import next_wakeup
from treadle_metadata.transitions import runs
from treadle_scheduler.advancing import NOTHING, Advanced, advance
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
        touched.update(run["id"] for run in woken.rows)
        done: Advanced = way(connection, context, woken, now) if woken.rows else NOTHING
        due_at = look_again(connection, woken.next_at, done, now)
        return Done(len(woken.rows), due_at, again=len(woken.rows) == most or done.ended > 0)

    try:
        return context.database.run(act)
    except BaseException:
        context.memory.forget(touched)
        context.quarantine.doubt()
        raise


def look_again(connection: Connection, seen: datetime | None, done: Advanced, now: datetime) -> datetime | None:
    """Return when the next wake-up is due: as ``seen`` with the claim, unless there are others since."""
    due_at = next_wakeup(connection) if done.wakes else seen
    return due_at if due_at is None or due_at > now else now + HELD_ELSEWHERE


def _together(connection: Connection, context: Context, woken: WokenRuns, now: datetime) -> Advanced:
    """Advance all runs in a few statements."""
    done = NOTHING
    for month, batch in groupby(sorted(woken.rows, key=itemgetter("month")), key=itemgetter("month")):
        done += advance(connection, context, list(batch), woken, month=month, now=now)
    context.quarantine.release(connection, woken.rows)
    return done


def _one_by_one(connection: Connection, context: Context, woken: WokenRuns, now: datetime) -> Advanced:
    """Advance each run by itself and set aside those with which that fails."""
    done = NOTHING
    for run in woken.rows:
        try:
            with connection.begin_nested():
                done += advance(connection, context, [run], woken, month=run["month"], now=now)
                context.quarantine.release(connection, [run])
        except Exception as error:
            if is_passing(error):
                raise
            context.memory.forget([run["id"]])
            # What it was woken for is forgotten, so no other scheduler may go on from what it remembers.
            runs.remember(connection, [run["id"]], context.memory.scheduler)
            context.quarantine.put(connection, run, error, now=now)
            done += Advanced(0, wakes=True)
    return done
