"""The engine: moves the clock from event to event and lets the loop beat until nothing moves at that instant.

``Simulation`` takes an empty migrated database and definitions, and gives a ``Result``. It never looks at the machine's
clock, and equal definitions give equal results. What is due before the end is played out; what is due later is not
made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from treadle_metadata import simulation as storing
from treadle_metadata.clock import ManualClock
from treadle_metadata.queries import simulation as queries
from treadle_metadata.settings import Settings
from treadle_scheduler.context import Context
from treadle_scheduler.simulation.collecting import outcomes
from treadle_scheduler.simulation.definitions import Definitions
from treadle_scheduler.simulation.durations import Durations
from treadle_scheduler.simulation.errors import SimulationError
from treadle_scheduler.simulation.executor import NAME, VirtualExecutor
from treadle_scheduler.simulation.fates import Fates
from treadle_scheduler.simulation.grid import Grid
from treadle_scheduler.simulation.loop import VirtualLoop
from treadle_scheduler.simulation.result import MissedDeadline, Result
from treadle_scheduler.simulation.session import Session
from treadle_scheduler.simulation.stuck import explain
from treadle_scheduler.waking import Scope

MOST_BEATS: Final = 5_000
"""Within a second; more means that runs which take no time make each other without end."""

PLAY_OUT: Final = timedelta(days=31)
"""How long after the last due time runs may go on."""

QUIET_SECONDS: Final = 6 * 3600.0
"""The heartbeat: nothing is missed in virtual time, so the safety net need not be looked at."""

Progress = Callable[[datetime], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to simulate: runs due from ``begin`` to ``end`` (exclusive), and how long their attempts take."""

    begin: datetime
    end: datetime
    durations: Durations
    resolution: float = 0.0
    """Seconds between the instants at which attempts end (``grid``); 0: they end exactly when they end."""


class Simulation:
    """One simulation in ``session``, an empty database with the schema and the partitions of ``plan.begin``."""

    def __init__(self, session: Session, settings: Settings, definitions: Definitions, plan: Plan) -> None:
        self.session = session
        self.plan = plan
        self.definitions = definitions
        self.settings = replace(settings, executor=NAME, heartbeat_seconds=QUIET_SECONDS, record_transitions=False)
        self.clock = ManualClock(plan.begin)
        fates, grid = Fates(definitions, plan.durations), Grid(plan.resolution)
        self.executor = VirtualExecutor(session, self.settings, self.clock, fates.of, grid)
        executors = dict.fromkeys({NAME, *definitions.executors()}, self.executor)
        context = Context(session, self.clock, self.settings, executors, alone=True)
        self.loop = VirtualLoop(context, definitions.documents.values())
        self.instants = 0
        self._analyzed = 0
        self._second, self._beats = plan.begin, 0

    def run(self, progress: Progress = lambda _: None) -> Result:
        """Play it out and return what happened.

        Raises:
            SimulationError: it does not come to rest, or a duty failed.
        """
        self.session.run(lambda connection: storing.fill(connection, self.definitions.rows(self.plan, self.settings)))
        moment: datetime | None = self.plan.begin
        last = self.plan.end + PLAY_OUT
        while moment is not None and moment <= last:
            self.clock.set(moment)
            self._instant()
            progress(moment)
            moment = self._next()
        self.session.commit()
        return self.session.run(self._result)

    def _instant(self) -> None:
        """Let everything happen that happens now."""
        self.instants += 1
        self._end_due()
        while True:
            self._count_beat()
            if self.clock.now() >= self.plan.end:
                self.session.run(lambda connection: storing.end_schedules(connection, self.plan.end))
            self.loop.beat()
            if self.session.failure is not None:
                raise self.session.failure
            if not self._end_due() and not self.loop.is_called:
                break
        # With it end the planner's settings that a duty makes for its transaction.
        self.session.commit()
        self._keep_planner_informed()

    def _count_beat(self) -> None:
        second = self.clock.now().replace(microsecond=0)
        if second != self._second:
            self._second, self._beats = second, 0
        self._beats += 1
        if self._beats > MOST_BEATS:
            raise SimulationError(
                f"the simulation does not get past {second.isoformat()}: runs that take no time make each other "
                "without end; give their tasks a duration"
            )

    def _end_due(self) -> int:
        """End the attempts that are over, and those that wait for a run which has succeeded."""
        ended = self.executor.end_due()
        awaited = {run for _, run in self.executor.awaited}
        if awaited:
            succeeded = self.session.run(lambda connection: queries.succeeded_runs(connection, sorted(awaited)))
            ended += self.executor.release(succeeded.__contains__)
        if ended:
            self.loop.wake(Scope.TASKS)
        return ended

    def _keep_planner_informed(self) -> None:
        """Analyze the tables after 50 instants, and whenever there were 8 times as many since."""
        if self.instants >= max(50, self._analyzed * 8):
            self._analyzed = self.instants
            self.session.run(storing.analyze)

    def _next(self) -> datetime | None:
        """Return the next instant at which something happens, None if nothing ever will."""
        ends, look = self.executor.next_end, self.loop.next_look()
        if ends is None and self.clock.now() >= self.plan.end and not self.session.run(storing.count_unfinished):
            return None
        found = [one for one in (ends, look) if one is not None]
        return max(self.clock.now(), min(found)) if found else None

    def _result(self, connection: Connection) -> Result:
        runs, tasks = outcomes(connection, self.plan.end)
        stuck: tuple[str, ...] = ()
        if any(run.ended_at is None for run in runs):
            stuck = explain(connection, self.executor.awaited, now=self.clock.now(), settings=self.settings)
        missed = (row for row in queries.missed_deadlines(connection) if row["run_after"] < self.plan.end)
        return Result(
            self.plan.begin,
            self.plan.end,
            self.settings.parallelism,
            self.definitions.pools,
            runs=runs,
            tasks=tasks,
            missed_deadlines=tuple(
                MissedDeadline(row["dag_id"], row["run_id"], row["name"], row["due_at"]) for row in missed
            ),
            stuck=stuck,
        )
