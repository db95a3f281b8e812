"""The scheduler's loop: the duties of a beat, in order.

A beat runs every duty that was woken or whose time has come; the loop then waits for the earliest time that a duty
asked for, a notification, or the heartbeat, whichever comes first. Nothing sleeps while there is work. A beat that is
killed loses nothing: each duty is one transaction, and what was committed but not handed over is repaired by leases.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from treadle_scheduler.context import Context, Done, Duty
from treadle_scheduler.duties.advance_runs import advance_runs
from treadle_scheduler.duties.collect_reports import collect_reports
from treadle_scheduler.duties.complete_backfills import complete_backfills
from treadle_scheduler.duties.create_runs import create_runs
from treadle_scheduler.duties.hand_over import hand_over
from treadle_scheduler.duties.make_partitions import make_partitions
from treadle_scheduler.duties.queue_tasks import queue_tasks
from treadle_scheduler.duties.rescue_lost import rescue_lost
from treadle_scheduler.duties.start_runs import start_runs
from treadle_scheduler.faults import OUTAGE, DatabaseOutage, run_duty
from treadle_scheduler.waking import Flag

log = logging.getLogger(__name__)

BEAT: Sequence[Duty] = (
    make_partitions,
    collect_reports,
    create_runs,
    start_runs,
    advance_runs,
    queue_tasks,
    hand_over,
    rescue_lost,
    complete_backfills,
)

TIMED: frozenset[Duty] = frozenset({make_partitions, create_runs, rescue_lost, complete_backfills})
"""Duties that are not part of a task's way: run in their time or when something outside changed, not at each wake."""


class Loop:
    """Runs beats until it is stopped."""

    def __init__(self, context: Context, beat: Sequence[Duty] = BEAT) -> None:
        self.context = context
        self._beat = beat
        self._due: dict[Duty, datetime] = {}
        self._woken = Flag()
        self._everywhere = Flag(up=True)
        self._stopping = False

    def wake(self, *, everywhere: bool = False) -> None:
        """Ask for a beat at once, from any thread; ``everywhere``: of the timed duties too."""
        if everywhere:
            self._everywhere.set()
        self._woken.set()

    def stop(self) -> None:
        """End the loop after the present beat."""
        self._stopping = True
        self._woken.set()

    def run(self) -> None:
        """Run beats until :meth:`stop` is called."""
        while not self._stopping:
            woken = self._woken.take()
            try:
                wait = self.beat(woken=woken)
            except DatabaseOutage:
                self._everywhere.set()
                wait = OUTAGE
            if wait > timedelta(0):
                self._woken.wait(wait.total_seconds())
            else:
                self._woken.set()

    def beat(self, *, woken: bool = True) -> timedelta:
        """Run the duties that are due; return how long nothing needs to be done unless something happens."""
        everywhere = self._everywhere.take()
        again = False
        for duty in self._beat:
            if everywhere or self._is_due(duty, woken):
                done = run_duty(duty, self.context)
                self._note(duty, done)
                again |= done.again
                woken |= done.count > 0
        return timedelta(0) if again else self._wait()

    def _is_due(self, duty: Duty, woken: bool) -> bool:
        due = self._due.get(duty)
        return (
            (woken and duty not in TIMED) or duty is hand_over or (due is not None and due <= self.context.clock.now())
        )

    def _note(self, duty: Duty, done: Done) -> None:
        heartbeat = self.context.clock.now() + timedelta(seconds=self.context.settings.heartbeat_seconds)
        if duty in TIMED and done.next_at is not None:
            self._due[duty] = done.next_at
        else:
            self._due[duty] = min(done.next_at or heartbeat, heartbeat)
        if done.count:
            log.debug("%s: %d", duty.__name__, done.count)

    def _wait(self) -> timedelta:
        now = self.context.clock.now()
        return max(timedelta(0), min(self._due.values(), default=now) - now)
