"""The scheduler's loop in virtual time: the same duties in the same order, and no safety net to wait for.

The driver asks ``is_called`` and ``next_look`` instead of waiting. Notifications are not listened to: what one would
tell, the end of a run, is known here. Periodic housekeeping runs along with other work, never by itself.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from treadle_scheduler.beat import BEAT, WOKEN_BY
from treadle_scheduler.context import Context, Done, Duty
from treadle_scheduler.duties.advance_runs import advance_runs
from treadle_scheduler.duties.create_asset_runs import create_asset_runs
from treadle_scheduler.duties.create_runs import create_runs
from treadle_scheduler.duties.fire_deadlines import fire_deadlines
from treadle_scheduler.duties.hand_over import hand_over
from treadle_scheduler.duties.queue_tasks import queue_tasks
from treadle_scheduler.duties.run_callbacks import run_callbacks
from treadle_scheduler.duties.start_runs import start_runs
from treadle_scheduler.loop import Loop
from treadle_scheduler.waking import Scope

TIMED: Final[frozenset[Duty]] = frozenset(
    {create_runs, create_asset_runs, start_runs, advance_runs, queue_tasks, fire_deadlines}
)
"""The duties whose next look is an event of the simulation; all others are housekeeping."""

VIRTUAL_BEAT: Final = tuple(duty for duty in BEAT if duty is not run_callbacks)
"""Callbacks are users' code and change no state: there is none to run."""

HOUSEKEEPING: Final = timedelta(hours=1)
"""How often housekeeping is done at most."""


class VirtualLoop(Loop):
    """A loop that is told the time."""

    def __init__(self, context: Context) -> None:
        super().__init__(context, VIRTUAL_BEAT)

    @property
    def is_called(self) -> bool:
        """Whether there is more to do at this very instant."""
        return self._call.is_pending

    def next_look(self) -> datetime | None:
        """Return when a duty has something to do next, if nothing happens before."""
        return min((at for duty, at in self._due.items() if duty in TIMED), default=None)

    def _is_due(self, duty: Duty, scope: Scope) -> bool:
        """Tell whether a duty is to be run in this beat; housekeeping is, only when its time has come."""
        if duty in TIMED or duty in WOKEN_BY or duty is hand_over:
            return super()._is_due(duty, scope)
        return self._due.get(duty, self.context.clock.now()) <= self.context.clock.now()

    def _note(self, duty: Duty, done: Done) -> None:
        super()._note(duty, done)
        if duty not in TIMED:
            self._due[duty] = max(self._due[duty], self.context.clock.now() + HOUSEKEEPING)
        elif duty is advance_runs and done.again:
            # Runs ended: what a notification tells the other schedulers, and this one through its listener.
            self.wake(Scope.EVERYTHING)
