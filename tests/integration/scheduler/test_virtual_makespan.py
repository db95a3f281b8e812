"""How long a backfill takes when one of its runs is slow, in virtual time (case A13)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from bench.instant import InstantExecutor
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata import backfills
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload

SECOND = timedelta(seconds=1)
SLOW_SECONDS, QUICK_SECONDS, RUNS, LIMIT = 60, 1, 10, 3


class Working:
    """Keeps attempts for as long as their tasks take, then lets the instant executor end them."""

    def __init__(self, executor: InstantExecutor, clock: ManualClock) -> None:
        self._end = executor.queue
        self._clock = clock
        self._until: list[tuple[datetime, Workload]] = []
        executor.queue = self.queue  # type: ignore[method-assign]

    def queue(self, workloads: Iterable[Workload]) -> None:
        """Begin the attempts; the first run's takes a minute."""
        for one in workloads:
            is_slow = str(one["run"]["logical_date"]).startswith("2026-01-01")
            seconds = SLOW_SECONDS if is_slow else QUICK_SECONDS
            self._until.append((self._clock.now() + seconds * SECOND, one))

    def end_due(self) -> None:
        """End the attempts whose time is over."""
        due = [one for until, one in self._until if until <= self._clock.now()]
        self._until = [entry for entry in self._until if entry[0] > self._clock.now()]
        if due:
            self._end(due)


def test_one_slow_run_of_a_backfill_holds_up_no_other(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler = TestScheduler(database, replace(settings, lease_seconds=3600.0), clock)
    working = Working(scheduler.executor, clock)
    schedule = ScheduleDocument(kind="cron", expressions=("0 0 * * *",), style="interval")
    scheduler.install(a_dag("daily", TaskDocument("a"), schedule=schedule, start_date="2026-01-01T00:00:00+00:00"))
    first, last = datetime(2026, 1, 1, tzinfo=clock.now().tzinfo), datetime(2026, 1, 10, tzinfo=clock.now().tzinfo)
    with database.begin() as connection:
        made = backfills.create(connection, "daily", first, last, max_active_runs=LIMIT, now=clock.now())
    assert len(made.planned) == RUNS
    ended_at: dict[str, int] = {}
    most = 0
    for second in range(2 * SLOW_SECONDS):
        working.end_due()
        scheduler.beats()
        states = scheduler.run_states("daily")
        most = max(most, sum(state == "running" for state in states.values()))
        for run_id, state in states.items():
            if state == "success":
                ended_at.setdefault(run_id, second)
        if len(ended_at) == RUNS:
            break
        clock.advance(SECOND)
    assert most == LIMIT
    # Nine quick runs through the two places that the slow one leaves: 5 rounds, a beat each.
    assert sorted(ended_at.values())[-2] <= 2 * 5
    assert max(ended_at.values()) == SLOW_SECONDS
