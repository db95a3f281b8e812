"""An executor without workers: attempts start when they are queued and end when their virtual time is over.

The driver moves the clock to ``next_end`` and calls ``end_due``. Reports go through the Execution API's own functions,
a batch at a time, so that states move exactly as they do with real workers.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata import execution
from treadle_metadata.clock import Clock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_scheduler.simulation.grid import Grid
from treadle_scheduler.simulation.workerless import WorkerlessExecutor, start_report
from treadle_worker.protocol import Workload

NAME: Final = "virtual"
_FOREVER: Final = timedelta(days=36_600)
"""The lease of an attempt: no virtual worker is ever lost."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of an attempt: how long it takes, how it ends, and what it leaves."""

    seconds: float
    outcome: str = "success"
    xcoms: Sequence[Mapping[str, Any]] = ()
    asset_events: Sequence[Mapping[str, Any]] = ()
    awaits: tuple[str, datetime] | None = None
    """It ends no sooner than this run (DAG, logical date) has succeeded."""


@dataclass(order=True, slots=True)
class _Ending:
    at: datetime
    number: int
    exact: datetime = field(compare=False)
    began: datetime = field(compare=False)
    workload: Workload = field(compare=False)
    fate: Fate = field(compare=False)


class VirtualExecutor(WorkerlessExecutor):
    """Holds attempts for as long as ``fate`` says of each."""

    name = NAME

    def __init__(
        self, database: Database, settings: Settings, clock: Clock, fate: Callable[[Workload], Fate], grid: Grid
    ) -> None:
        super().__init__(database, settings)
        self.slots = settings.parallelism
        self.clock = clock
        self._fate = fate
        self._grid = grid
        self._endings: list[_Ending] = []
        self._waiting: list[_Ending] = []
        self._number = 0

    @property
    def next_end(self) -> datetime | None:
        """When the next attempt ends, None if none that is under way has an end."""
        return self._endings[0].at if self._endings else None

    @property
    def awaited(self) -> list[tuple[Workload, tuple[str, datetime]]]:
        """The attempts that are over but for what they wait for, and that run (DAG, logical date)."""
        return [(one.workload, one.fate.awaits) for one in self._waiting if one.fate.awaits]

    def start(self, on_event: Callable[[], None]) -> None:
        """Nothing ever happens by itself."""

    def queue(self, workloads: Iterable[Workload]) -> None:
        """Start the whole batch at this instant."""
        batch = list(workloads)
        now = self.clock.now()
        for one in batch:
            fate = self._fate(one)
            self._number += 1
            at, exact = self._grid.ends(one, fate.seconds, now)
            heapq.heappush(self._endings, _Ending(at, self._number, exact, now, one, fate))
        starts = [start_report(one, NAME, now) for one in batch]
        self.database.run(
            lambda connection: execution.record_starts(connection, starts, now=now, lease_until=now + _FOREVER)
        )

    def end_due(self) -> int:
        """End the attempts whose time is over; return how many."""
        now = self.clock.now()
        over: list[_Ending] = []
        while self._endings and self._endings[0].at <= now:
            one = heapq.heappop(self._endings)
            (over if one.fate.awaits is None else self._waiting).append(one)
        return self._end(over)

    def release(self, succeeded: Callable[[tuple[str, datetime]], bool]) -> int:
        """End the attempts that have waited for runs which have ``succeeded``; return how many."""
        over = [one for one in self._waiting if one.fate.awaits and succeeded(one.fate.awaits)]
        self._waiting = [one for one in self._waiting if one not in over]
        return self._end(over)

    def _end(self, over: Sequence[_Ending]) -> int:
        if over:
            now = self.clock.now()
            finishes = [_finish(one, now) for one in over]
            for one in over:
                self._grid.ended(one.workload, one.exact if one.fate.awaits is None else now, now)

            def act(connection: Connection) -> None:
                execution.record_finishes(connection, finishes, now=now)

            self.database.run(act)
        return len(over)

    def end(self) -> None:
        """Nothing to release."""


def _finish(one: _Ending, now: datetime) -> dict[str, Any]:
    return start_report(one.workload, NAME, one.began) | {
        "ended_at": now.isoformat(),
        "outcome": one.fate.outcome,
        "xcoms": one.fate.xcoms,
        "asset_events": one.fate.asset_events,
    }
