"""Ends of attempts on a grid of instants, so that what ends at about the same time is one beat of the loop.

An end is moved to the next instant of the grid, and what follows from it starts as much later as it should have. That
lateness is carried over: the follower's own end is reckoned from when it should have started, so that a run of any
number of tasks ends at most one step of the grid late, and a slot loses no time between two attempts.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Final

from treadle_worker.protocol import Workload

STEPS: Final = (1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds."""

MOST_INSTANTS: Final = 22_500


def step_for(period: timedelta) -> float:
    """Return the seconds between two instants of the grid: 5 for a day, 30 for a week, 120 for a month."""
    wanted = period.total_seconds() / MOST_INSTANTS
    return next((step for step in STEPS if step >= wanted), STEPS[-1])


class Grid:
    """Instants at multiples of ``step`` seconds; 0: any instant, nothing is moved."""

    def __init__(self, step: float) -> None:
        self._step = step
        self._at: datetime | None = None
        self._of_runs: dict[tuple[str, str], timedelta] = {}
        self._of_pools: dict[str, list[timedelta]] = {}

    def ended(self, workload: Workload, exact: datetime, now: datetime) -> None:
        """Note that an attempt ends now that should have ended at ``exact``."""
        if not self._step:
            return
        self._begin(now)
        run = (workload["dag_id"], workload["run"]["run_id"])
        late = now - exact
        # The last end is what the run's next tasks waited for.
        self._of_runs[run] = min(late, self._of_runs.get(run, late))
        self._of_pools.setdefault(workload["pool"], []).append(late)

    def ends(self, workload: Workload, seconds: float, now: datetime) -> tuple[datetime, datetime]:
        """Return when an attempt that starts now ends: on the grid, and exactly."""
        if not self._step:
            exact = now + timedelta(seconds=seconds)
            return exact, exact
        exact = now - self._lateness(workload, now) + timedelta(seconds=seconds)
        number = math.ceil(exact.timestamp() / self._step - 1e-9)
        return max(now, datetime.fromtimestamp(number * self._step, tz=exact.tzinfo)), exact

    def _lateness(self, workload: Workload, now: datetime) -> timedelta:
        """Return by how much too late the attempt starts: it followed a task of its run, or waited for a slot."""
        self._begin(now)
        of_run = self._of_runs.get((workload["dag_id"], workload["run"]["run_id"]))
        if of_run is not None:
            return of_run
        freed = self._of_pools.get(workload["pool"])
        if freed and datetime.fromisoformat(workload["run"]["run_after"]) < now:
            return freed.pop(0)
        return timedelta(0)

    def _begin(self, now: datetime) -> None:
        if self._at != now:
            self._at = now
            self._of_runs.clear()
            self._of_pools.clear()
