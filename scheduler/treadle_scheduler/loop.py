"""The scheduler's loop: the duties of a beat, in order.

A beat runs every duty that was woken or whose time has come; the loop then waits for the earliest time that a duty
asked for, a notification, or the heartbeat, whichever comes first. Nothing sleeps while there is work. A beat that is
killed loses nothing: each duty is one transaction, and what was committed but not handed over is repaired by leases.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from treadle_scheduler.beat import BEAT, WOKEN_BY
from treadle_scheduler.context import Context, Done, Duty
from treadle_scheduler.duties.advance_runs import advance_runs
from treadle_scheduler.duties.create_asset_runs import create_asset_runs
from treadle_scheduler.duties.create_runs import create_runs
from treadle_scheduler.duties.hand_over import hand_over
from treadle_scheduler.duties.queue_tasks import queue_tasks
from treadle_scheduler.faults import OUTAGE, DatabaseOutage, run_duty
from treadle_scheduler.waking import Call, Pace, Scope

log = logging.getLogger(__name__)


class Loop:
    """Runs beats until it is stopped."""

    def __init__(self, context: Context, beat: Sequence[Duty] = BEAT) -> None:
        self.context = context
        self._beat = beat
        self._due: dict[Duty, datetime] = {}
        self._call = Call(Scope.EVERYTHING)
        self._pace = Pace()
        self._handed = 0
        self._stopping = False

    def wake(self, scope: Scope = Scope.TASKS) -> None:
        """Ask for a beat at once, from any thread."""
        self._call.widen(scope)

    def stop(self) -> None:
        """End the loop after the present beat."""
        self._stopping = True
        self._call.widen(Scope.TASKS)

    def run(self) -> None:
        """Run beats until :meth:`stop` is called."""
        while not self._stopping:
            self._pace.begin()
            try:
                wait = self.beat()
            except DatabaseOutage:
                self._call.wait(OUTAGE.total_seconds())
                self._call.widen(Scope.EVERYTHING)
                continue
            self._pace.end(self._handed, self.context.under_way)
            self._call.wait(wait.total_seconds())
            self._pace.rest()

    def beat(self) -> timedelta:
        """Run the duties that are called for or due; return how long nothing needs to be done unless called."""
        scope = self._call.take()
        for duty in self._beat:
            if self._is_due(duty, scope):
                done = run_duty(duty, self.context)
                self._note(duty, done)
                if duty is hand_over:
                    self._handed = done.count
                if done.count and duty not in (advance_runs, queue_tasks, hand_over):
                    self.context.may_queue = True
                if done.count:
                    scope = max(scope, Scope.RUNS if duty in (create_runs, create_asset_runs) else Scope.TASKS)
                if done.again:
                    self._call.widen(Scope.EVERYTHING if duty in (create_runs, create_asset_runs) else Scope.RUNS)
        now = self.context.clock.now()
        return max(timedelta(0), min(self._due.values(), default=now) - now)

    def _is_due(self, duty: Duty, scope: Scope) -> bool:
        due = self._due.get(duty)
        if duty is queue_tasks and scope is Scope.TASKS and self.context.alone and not self.context.may_queue:
            scope = Scope.NOTHING
        return (
            scope >= WOKEN_BY.get(duty, Scope.EVERYTHING)
            or duty is hand_over
            or (due is not None and due <= self.context.clock.now())
        )

    def _note(self, duty: Duty, done: Done) -> None:
        heartbeat = self.context.clock.now() + timedelta(seconds=self.context.settings.heartbeat_seconds)
        if duty in WOKEN_BY or done.next_at is None:
            self._due[duty] = min(done.next_at or heartbeat, heartbeat)
        else:
            self._due[duty] = done.next_at
        if done.count:
            log.debug("%s: %d", duty.__name__, done.count)
