"""What becomes of times that were missed, came too close together, or came while the DAG was full or paused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata import pausing
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.missed_times import missed_times
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_scheduler.waking import Scope

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def cron(dag_id: str, expression: str, **changes: Any) -> Any:
    schedule = ScheduleDocument(kind="cron", expressions=(expression,))
    defaults: dict[str, Any] = {"start_date": "2026-01-15T12:00:00+00:00"}
    return a_dag(dag_id, TaskDocument("a"), schedule=schedule, **(defaults | changes))


def times(scheduler: TestScheduler, dag_id: str) -> list[str]:
    return [run_id.removeprefix("scheduled__2026-01-15T")[:5] for run_id in scheduler.run_states(dag_id)]


def missed(scheduler: TestScheduler, dag_id: str) -> Sequence[tuple[str, str, int | None]]:
    with scheduler.database.begin() as connection:
        found = missed_times(connection, dag_id, most=1000)
    return [(f"{row['run_after']:%H:%M}", row["reason"], row["slots"]) for row in reversed(found)]


def pause(scheduler: TestScheduler, dag_id: str, paused: bool) -> None:
    with scheduler.database.begin() as connection:
        pausing.set_paused(connection, [dag_id], paused, now=scheduler.clock.now())


def by_itself(scheduler: TestScheduler) -> None:
    """Beat as the loop does, while it wants to go on at once."""
    scheduler.loop.wake(Scope.EVERYTHING)
    while scheduler.loop.beat() <= timedelta(0):
        pass


def hold_tasks(scheduler: TestScheduler) -> Any:
    """Let attempts go on without end; return what ends those there are."""
    plain, scheduler.executor.queue = scheduler.executor.queue, scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]

    def end() -> None:
        held, scheduler.executor.taken[:] = scheduler.executor.taken[:], []
        plain(held)
        scheduler.beats()

    return end


@pytest.mark.parametrize(
    ("catchup", "made", "left_out"),
    [
        (True, ["12:00", "13:00", "14:00", "15:00"], []),
        (False, ["12:00", "15:00"], [("13:00", "late", 1), ("14:00", "late", 1)]),
        ("none", ["12:00"], [("13:00", "late", 1), ("14:00", "late", 1), ("15:00", "late", 1)]),
    ],
)
def test_after_a_downtime_the_policy_says_which_times_become_runs_and_the_others_are_rows(
    scheduler: TestScheduler, clock: ManualClock, catchup: Any, made: list[str], left_out: list[Any]
) -> None:
    """Cases A65 and A67."""
    scheduler.install(cron("hourly", "0 * * * *", catchup=catchup), next_run_at=clock.now())
    scheduler.beats()
    clock.advance(3 * HOUR + 20 * MINUTE)
    scheduler.beats()
    assert times(scheduler, "hourly") == made
    assert missed(scheduler, "hourly") == left_out
    clock.advance(40 * MINUTE)
    scheduler.beats()
    assert times(scheduler, "hourly") == [*made, "16:00"], "the next time is made as ever"
    assert missed(scheduler, "hourly") == left_out


def test_catchup_none_makes_nothing_before_the_first_time_after_unpausing(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    """Case A10: monthly, unpaused on 27 May."""
    document = cron("monthly", "0 3 1 * *", catchup="none", start_date="2024-01-01T00:00:00+00:00")
    clock.set(datetime(2024, 5, 20, tzinfo=UTC))
    scheduler.install(document, next_run_at=clock.now(), is_paused=True)
    scheduler.beats()
    clock.set(datetime(2024, 5, 27, 9, tzinfo=UTC))
    pause(scheduler, "monthly", False)
    scheduler.beats()
    assert scheduler.run_states("monthly") == {}
    assert scheduler.next_run_at("monthly") == datetime(2024, 6, 1, 3, tzinfo=UTC)
    clock.set(datetime(2024, 6, 1, 3, tzinfo=UTC))
    scheduler.beats()
    assert list(scheduler.run_states("monthly")) == ["scheduled__2024-06-01T03:00:00+00:00"]


def test_times_of_a_pause_are_rows_that_say_so(scheduler: TestScheduler, clock: ManualClock) -> None:
    """Case A11: the latest one is made, since that is what "last" says; the others were paused."""
    scheduler.install(cron("minutely", "* * * * *"), next_run_at=clock.now())
    scheduler.beats()
    pause(scheduler, "minutely", True)
    clock.advance(timedelta(minutes=4, seconds=30))
    scheduler.beats()
    pause(scheduler, "minutely", False)
    scheduler.beats()
    assert times(scheduler, "minutely") == ["12:00", "12:04"]
    assert missed(scheduler, "minutely") == [(f"12:0{n}", "paused", 1) for n in (1, 2, 3)]


def test_a_year_of_minutes_is_a_hundred_rows_and_a_sum(scheduler: TestScheduler, clock: ManualClock) -> None:
    scheduler.install(cron("minutely", "* * * * *"), next_run_at=clock.now())
    scheduler.beats()
    pause(scheduler, "minutely", True)
    clock.advance(timedelta(minutes=500))
    pause(scheduler, "minutely", False)
    scheduler.beats()
    assert len(missed(scheduler, "minutely")) == 101
    assert missed(scheduler, "minutely")[-1] == ("13:41", "paused", 399)
    pause(scheduler, "minutely", True)
    clock.advance(timedelta(days=365))
    pause(scheduler, "minutely", False)
    scheduler.beats()
    assert len(scheduler.run_states("minutely")) == 3
    assert missed(scheduler, "minutely")[-1][2] is None


@pytest.mark.parametrize("catchup", [False, "none"])
def test_a_time_that_waits_for_the_run_limit_is_made_and_the_ones_it_replaced_are_rows(
    scheduler: TestScheduler, clock: ManualClock, catchup: Any
) -> None:
    """Case A65: neither policy takes a time for missed that the run limit held back."""
    document = cron("slow", "*/10 * * * *", catchup=catchup, max_active_runs=1)
    end = hold_tasks(scheduler)
    scheduler.install(document, next_run_at=clock.now())
    for _ in range(4):
        scheduler.beats()
        clock.advance(10 * MINUTE)
    assert times(scheduler, "slow") == ["12:00"]
    end()
    assert times(scheduler, "slow") == ["12:00", "12:40"]
    assert missed(scheduler, "slow") == [("12:10", "overlap", 1), ("12:20", "overlap", 1), ("12:30", "overlap", 1)]


def test_with_catchup_every_time_that_waits_is_made(scheduler: TestScheduler, clock: ManualClock) -> None:
    end = hold_tasks(scheduler)
    scheduler.install(cron("slow", "*/10 * * * *", catchup=True, max_active_runs=1), next_run_at=clock.now())
    for _ in range(3):
        scheduler.beats()
        clock.advance(10 * MINUTE)
    for count in (2, 3, 4):
        end()
        assert len(times(scheduler, "slow")) == count
    assert times(scheduler, "slow") == ["12:00", "12:10", "12:20", "12:30"]
    assert missed(scheduler, "slow") == []


@pytest.mark.parametrize("catchup", [True, "none"])
def test_with_overlap_skip_the_times_of_a_full_dag_are_left_out(
    scheduler: TestScheduler, clock: ManualClock, catchup: Any
) -> None:
    """Case A65: the next run is that of the next time, not one that came meanwhile."""
    document = cron("skips", "*/10 * * * *", catchup=catchup, overlap="skip", max_active_runs=1)
    end = hold_tasks(scheduler)
    scheduler.install(document, next_run_at=clock.now())
    for _ in range(4):
        scheduler.beats()
        clock.advance(10 * MINUTE)
    clock.set(NOON + 35 * MINUTE)
    end()
    assert times(scheduler, "skips") == ["12:00"]
    assert missed(scheduler, "skips") == [("12:10", "overlap", 1), ("12:20", "overlap", 1), ("12:30", "overlap", 1)]
    clock.set(NOON + 40 * MINUTE)
    scheduler.beats()
    assert times(scheduler, "skips") == ["12:00", "12:40"]


@pytest.mark.parametrize(
    ("catchup", "made"), [("none", [0, 0, 30]), (False, [7, 14, 44]), (True, [7, 14, 21])], ids=["none", "last", "all"]
)
def test_after_four_hours_of_downtime_late_runs_keep_to_their_pace(
    database: Database, settings: Settings, clock: ManualClock, catchup: Any, made: list[int]
) -> None:
    """Case A67: 30 DAGs, each 10 minutes; at most 7 late runs a minute, and what is due now waits for none of them."""
    scheduler = TestScheduler(database, replace(settings, missed_runs_per_minute=7), clock)
    last = NOON - 237 * MINUTE
    for n in range(30):
        document = cron(f"dag{n}", "3-59/10 * * * *", catchup=catchup, start_date="2026-01-15T08:03:00+00:00")
        columns = {"resumed_at": last, "last_interval_start": last, "last_interval_end": last}
        scheduler.install(document, next_run_at=last + 10 * MINUTE, **columns)
    scheduler.install(cron("on_time", "* * * * *", catchup=True), next_run_at=NOON)
    found = []
    for minute in (0, 1, 3):
        clock.set(NOON + minute * MINUTE)
        by_itself(scheduler)
        found.append(sum(len(scheduler.run_states(f"dag{n}")) for n in range(30)))
        assert len(scheduler.run_states("on_time")) == minute + 1
    # At 12:03 comes a regular time. With "last" it takes the place of those that waited; with "all" they come first.
    assert found == made


def test_rows_of_missed_times_go_with_their_dag_and_after_three_months(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    scheduler.install(cron("hourly", "0 * * * *"), next_run_at=clock.now())
    scheduler.beats()
    clock.advance(2 * HOUR)
    scheduler.beats()
    assert len(missed(scheduler, "hourly")) == 1
    clock.advance(timedelta(days=100))
    scheduler.beats()
    with scheduler.database.begin() as connection:
        (oldest,) = rows(connection, "SELECT min(noticed_at) AS noticed_at FROM missed_slot")
        assert oldest["noticed_at"] == clock.now()
        execute(connection, "DELETE FROM dag_run")
        execute(connection, "DELETE FROM dag WHERE dag_id = 'hourly'")
        assert rows(connection, "SELECT FROM missed_slot") == []
        with pytest.raises(NotFoundError):
            missed_times(connection, "hourly", most=10)
