"""The scheduler's loop in virtual time: the same duties in the same order, and no safety net to wait for.

The driver asks ``is_called`` and ``next_look`` instead of waiting. Notifications are not listened to: what one would
tell, the end of a run, is known here. Periodic housekeeping runs along with other work, never by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from treadle.document import DagDocument
from treadle_metadata.planning import any_held_back
from treadle_scheduler.beat import BEAT, WOKEN_BY
from treadle_scheduler.context import Context, Done, Duty
from treadle_scheduler.duties.advance_runs import advance_runs
from treadle_scheduler.duties.collect_reports import collect_reports
from treadle_scheduler.duties.complete_backfills import complete_backfills
from treadle_scheduler.duties.create_asset_runs import create_asset_runs
from treadle_scheduler.duties.create_runs import create_runs
from treadle_scheduler.duties.end_waits import end_waits
from treadle_scheduler.duties.fire_deadlines import fire_deadlines
from treadle_scheduler.duties.hand_over import hand_over
from treadle_scheduler.duties.learn_sizes import learn_sizes
from treadle_scheduler.duties.queue_tasks import queue_tasks
from treadle_scheduler.duties.rescue_lost import rescue_lost
from treadle_scheduler.duties.run_callbacks import run_callbacks
from treadle_scheduler.duties.start_runs import start_runs
from treadle_scheduler.duties.tell_costs import tell_costs
from treadle_scheduler.loop import Loop
from treadle_scheduler.waking import Scope

TIMED: Final[frozenset[Duty]] = frozenset(
    {create_runs, create_asset_runs, start_runs, advance_runs, queue_tasks, fire_deadlines}
)
"""The duties whose next look is an event of the simulation; all others are housekeeping."""

NEVER: Final[frozenset[Duty]] = frozenset(
    {collect_reports, end_waits, run_callbacks, rescue_lost, complete_backfills, learn_sizes, tell_costs}
)
"""The duties that find nothing in a simulation: no virtual worker is lost or tells of anything, none defers, and there
is no backfill. Callbacks are users' code and change no state, and of sizes the driver tells the planner itself."""

HOUSEKEEPING: Final = timedelta(hours=1)
"""How often housekeeping is done at most."""


class VirtualLoop(Loop):
    """A loop that is told the time."""

    def __init__(self, context: Context, documents: Iterable[DagDocument]) -> None:
        documents = list(documents)
        idle = set(NEVER)
        if all(one.schedule.condition is None for one in documents):
            idle.add(create_asset_runs)
        if not any(one.deadlines for one in documents):
            idle.add(fire_deadlines)
        super().__init__(context, [duty for duty in BEAT if duty not in idle])
        self._holds_back = False

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
        if duty is create_runs and not done.again:
            self._holds_back = self.context.database.run(any_held_back)
        if duty is advance_runs and done.again and self._holds_back:
            # Runs ended: what a notification tells the other schedulers, and this one through its listener.
            self.wake(Scope.EVERYTHING)
