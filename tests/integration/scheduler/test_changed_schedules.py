"""Schedules that change under way, clocks that go back, runs that are cancelled or deleted: the next time fires.

Each new version is planned as the DAG processor does it; everything else is the loop's own work.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.versions import add_version

from treadle.document import DagDocument, ScheduleDocument, TaskDocument
from treadle.timetables.base import DataInterval
from treadle_metadata import deletion, execution, marking
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_metadata.tables import dag
from treadle_scheduler.calendar import next_run
from treadle_worker.workloads import subject_of

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def version(schedule: ScheduleDocument, **changes: Any) -> DagDocument:
    defaults: dict[str, Any] = {"start_date": "2026-01-15T12:00:00+00:00"}
    return a_dag("moving", TaskDocument("a"), schedule=schedule, **(defaults | changes))


def cron(expression: str, style: str = "trigger") -> ScheduleDocument:
    return ScheduleDocument(kind="cron", expressions=(expression,), style=style)


NEVER = ScheduleDocument()


def begin(scheduler: TestScheduler, document: DagDocument) -> None:
    scheduler.install(document, next_run_at=scheduler.clock.now())
    scheduler.beats()


def change(scheduler: TestScheduler, document: DagDocument) -> None:
    """Store a new version as the DAG processor does."""
    now = scheduler.clock.now()
    with scheduler.database.begin() as connection:
        add_version(connection, document, now=now)
        (row,) = rows(connection, "SELECT last_interval_start, last_interval_end FROM dag WHERE dag_id = 'moving'")
        last = DataInterval(*row.values()) if row["last_interval_start"] else None
        info = next_run(document, last=last, now=now, cron_style="trigger")
        connection.execute(
            update(dag)
            .where(dag.c.dag_id == "moving")
            .values(
                next_run_at=info and info.run_after,
                next_logical_date=info and info.logical_date,
                at_run_limit=False,
            )
        )
    scheduler.beats()


def advance(scheduler: TestScheduler, step: timedelta, times: int = 1) -> None:
    for _ in range(times):
        scheduler.clock.advance(step)
        scheduler.beats()


def logical_dates(scheduler: TestScheduler) -> list[str]:
    with scheduler.database.begin() as connection:
        found = rows(connection, "SELECT logical_date FROM dag_run WHERE dag_id = 'moving' ORDER BY id")
    return [f"{row['logical_date']:%d %H:%M}" for row in found]


def test_another_expression_goes_on_from_the_last_run(scheduler: TestScheduler) -> None:
    begin(scheduler, version(cron("0 * * * *"), catchup=True))
    advance(scheduler, HOUR)
    change(scheduler, version(cron("*/30 * * * *"), catchup=True))
    advance(scheduler, 30 * MINUTE, 2)
    change(scheduler, version(cron("0 */2 * * *"), catchup=True))
    advance(scheduler, HOUR, 2)
    assert logical_dates(scheduler) == ["15 12:00", "15 13:00", "15 13:30", "15 14:00", "15 16:00"]


@pytest.mark.parametrize(
    ("catchup", "expected"),
    [
        (True, ["15 12:00", "15 13:00", "15 14:00", "15 15:00"]),
        (False, ["15 12:00", "15 15:00"]),
        ("none", ["15 12:00", "15 16:00"]),
    ],
)
def test_a_schedule_that_was_taken_away_and_came_back_does_what_the_policy_says_of_the_time_between(
    scheduler: TestScheduler, catchup: Any, expected: list[str]
) -> None:
    begin(scheduler, version(cron("0 * * * *"), catchup=catchup))
    change(scheduler, version(NEVER))
    advance(scheduler, HOUR, 3)
    assert logical_dates(scheduler) == ["15 12:00"]
    scheduler.clock.set(NOON + 3 * HOUR + 20 * MINUTE)
    change(scheduler, version(cron("0 * * * *"), catchup=catchup))
    if catchup == "none":
        advance(scheduler, 40 * MINUTE)
    assert logical_dates(scheduler) == expected


def test_the_reading_may_change_both_ways_and_no_logical_date_comes_twice(scheduler: TestScheduler) -> None:
    """From triggers to intervals, the interval that begins at the last trigger has its logical date already."""
    begin(scheduler, version(cron("0 * * * *"), catchup=True))
    advance(scheduler, HOUR)
    assert logical_dates(scheduler) == ["15 12:00", "15 13:00"]
    change(scheduler, version(cron("0 * * * *", "interval"), catchup=True))
    advance(scheduler, HOUR, 3)
    assert logical_dates(scheduler) == ["15 12:00", "15 13:00", "15 14:00", "15 15:00"]
    change(scheduler, version(cron("0 * * * *"), catchup=True))
    advance(scheduler, HOUR, 2)
    assert logical_dates(scheduler)[4:] == ["15 17:00", "15 18:00"]


@pytest.mark.parametrize("catchup", [True, "none"])
def test_a_start_date_that_moves_makes_nothing_twice_and_holds_back_what_comes_before_it(
    scheduler: TestScheduler, catchup: Any
) -> None:
    begin(scheduler, version(cron("0 * * * *"), catchup=catchup))
    change(scheduler, version(cron("0 * * * *"), catchup=catchup, start_date="2026-01-01T00:00:00+00:00"))
    advance(scheduler, HOUR)
    assert logical_dates(scheduler) == ["15 12:00", "15 13:00"]
    change(scheduler, version(cron("0 * * * *"), catchup=catchup, start_date="2026-01-15T15:30:00+00:00"))
    advance(scheduler, HOUR, 4)
    assert logical_dates(scheduler) == ["15 12:00", "15 13:00", "15 16:00", "15 17:00"]


def test_an_end_date_ends_the_runs_and_one_that_moves_lets_them_go_on(scheduler: TestScheduler) -> None:
    begin(scheduler, version(cron("0 * * * *"), catchup=True, end_date="2026-01-15T13:00:00+00:00"))
    advance(scheduler, HOUR, 3)
    assert logical_dates(scheduler) == ["15 12:00", "15 13:00"]
    assert scheduler.next_run_at("moving") is None
    change(scheduler, version(cron("0 * * * *"), catchup=True, end_date="2026-01-15T14:59:00+00:00"))
    advance(scheduler, HOUR)
    assert logical_dates(scheduler) == ["15 12:00", "15 13:00", "15 14:00"]


@pytest.mark.parametrize("style", ["trigger", "interval"])
def test_a_clock_that_goes_back_makes_no_run_twice(scheduler: TestScheduler, clock: ManualClock, style: str) -> None:
    begin(scheduler, version(cron("*/10 * * * *", style), start_date="2026-01-15T11:00:00+00:00"))
    advance(scheduler, 10 * MINUTE, 2)
    before = logical_dates(scheduler)
    for back in (15 * MINUTE, 3 * HOUR, timedelta(seconds=1)):
        clock.advance(-back)
        scheduler.beats()
        assert logical_dates(scheduler) == before
        clock.advance(back)
        scheduler.beats()
        assert logical_dates(scheduler) == before
    advance(scheduler, 10 * MINUTE)
    assert len(logical_dates(scheduler)) == len(before) + 1


def test_a_date_that_somebody_ran_by_hand_is_passed_over_and_the_schedule_goes_on(scheduler: TestScheduler) -> None:
    """Case A74: one logical date, one run."""
    scheduler.install(version(cron("0 * * * *"), catchup=True), next_run_at=scheduler.clock.now())
    scheduler.trigger("moving", logical_date=NOON + HOUR)
    scheduler.beats()
    advance(scheduler, HOUR, 2)
    assert sorted(logical_dates(scheduler)) == ["15 12:00", "15 13:00", "15 14:00"]


def _mark_failed(scheduler: TestScheduler, run_id: str) -> None:
    with scheduler.database.begin() as connection:
        marking.mark_run(connection, "moving", run_id, "failed", now=scheduler.clock.now())


def _delete(scheduler: TestScheduler, run_id: str) -> None:
    _mark_failed(scheduler, run_id)
    with scheduler.database.begin() as connection:
        deletion.delete_run(connection, "moving", run_id, now=scheduler.clock.now())


def _lose(scheduler: TestScheduler, run_id: str) -> None:
    """Let the lease of its attempt run out, as after a kill of whatever ran it."""
    assert run_id
    scheduler.clock.advance(timedelta(seconds=31))


def _starting(scheduler: TestScheduler) -> Any:
    """Return an executor's ``queue`` whose attempts start and never end."""

    def queue(workloads: Any) -> None:
        now = scheduler.clock.now()
        starts = [
            {name: one[name] for name in ("attempt_id", "task_instance_id", "month")}
            | {"hostname": "here", "started_at": now.isoformat(), "subject": subject_of(one)}
            for one in workloads
        ]
        with scheduler.database.begin() as connection:
            execution.record_starts(connection, starts, now=now, lease_until=now + timedelta(days=1))

    return queue


def _holding(scheduler: TestScheduler, state: str) -> None:
    """See that the DAG's task stays in ``state``."""
    executor: Any = scheduler.executor
    if state == "queued":
        executor.queue = executor.taken.extend
    elif state == "running":
        executor.queue = _starting(scheduler)
    elif state == "up_for_retry":
        executor.outcome = lambda _: {"outcome": "failed"}
    else:
        with scheduler.database.begin() as connection:
            execute(connection, "UPDATE slot_pool SET slots = 0 WHERE name = 'default_pool'")


@pytest.mark.parametrize(
    ("state", "end"),
    [
        ("scheduled", _delete),
        ("queued", _mark_failed),
        ("running", _mark_failed),
        ("running", _delete),
        ("running", _lose),
        ("up_for_retry", _delete),
    ],
)
def test_whatever_ends_a_run_the_next_time_fires(
    database: Database, settings: Settings, clock: ManualClock, state: str, end: Any
) -> None:
    """Case A69: one run at a time; it is cancelled, deleted or lost, with a restart of the scheduler in between."""
    scheduler = TestScheduler(database, settings, clock)
    _holding(scheduler, state)
    task = TaskDocument("a", retries=1, retry_delay_seconds=86_400) if state == "up_for_retry" else TaskDocument("a")
    document = replace(version(cron("*/10 * * * *"), max_active_runs=1), tasks=(task,))
    scheduler.install(document, next_run_at=clock.now())
    scheduler.beats()
    (run_id,) = scheduler.run_states("moving")
    assert scheduler.task_states(run_id) == {"a": state}
    advance(scheduler, 10 * MINUTE)
    assert logical_dates(scheduler) == ["15 12:00"], "the next time waits for it"
    if end is not _mark_failed:
        scheduler = TestScheduler(database, settings, clock)
        _holding(scheduler, state)
    if end is _lose:
        with database.begin() as connection:
            execute(connection, "UPDATE task_instance SET lease_until = %(now)s", {"now": clock.now()})
    end(scheduler, run_id)
    scheduler.beats()
    assert logical_dates(scheduler)[-1] == "15 12:10"
