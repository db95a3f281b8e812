"""Runs by partition: one for each complete key, on a real database with an instant executor."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.statements import recorded_statements
from tests.support.versions import add_version

from treadle import (
    Asset,
    CronPartitionTimetable,
    FanOutMapper,
    FixedKeyMapper,
    MonthWindow,
    PartitionedAssetTimetable,
    PartitionMapper,
    ProductMapper,
    RollupMapper,
    StartOfDayMapper,
    StartOfMonthMapper,
    StartOfWeekMapper,
    WeekWindow,
)
from treadle.asset_schedules import assets_document
from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata import backfills
from treadle_metadata.assets.emitting import NewEvent, emit
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_scheduler import partitioned
from treadle_scheduler.duties.create_asset_runs import create_asset_runs

DAY = "%Y-%m-%d"
MONTHLY = RollupMapper(upstream_mapper=StartOfMonthMapper(input_format=DAY), window=MonthWindow())
WEEKLY = RollupMapper(upstream_mapper=StartOfWeekMapper(input_format=DAY), window=WeekWindow())
DAYS_OF_WEEK = FanOutMapper(
    upstream_mapper=StartOfWeekMapper(input_format=DAY), window=WeekWindow(), downstream_mapper=StartOfDayMapper()
)
LONG = ProductMapper(FixedKeyMapper("x" * 200), FixedKeyMapper("y" * 200))


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def install(scheduler: TestScheduler, timetable: Any, **columns: Any) -> None:
    scheduler.install(a_dag("consumer", TaskDocument("work"), schedule=timetable.to_document()), **columns)


def edit(scheduler: TestScheduler, schedule: ScheduleDocument) -> None:
    with scheduler.database.begin() as connection:
        add_version(connection, a_dag("consumer", TaskDocument("work"), schedule=schedule), now=scheduler.clock.now())


def tell(scheduler: TestScheduler, name: str, *keys: str | None) -> None:
    with scheduler.database.begin() as connection:
        emit(connection, [NewEvent(name, partition_key=key) for key in keys], now=scheduler.clock.now())


def made(scheduler: TestScheduler) -> list[tuple[str, int]]:
    """Return each run's partition key and its number of events."""
    with scheduler.database.begin() as connection:
        found = rows(
            connection,
            """
            SELECT run.partition_key, count(taken.event_id) AS events
            FROM dag_run AS run LEFT JOIN dag_run_asset_event AS taken ON taken.dag_run_id = run.id
            GROUP BY run.id ORDER BY run.id
            """,
        )
    return [(row["partition_key"], row["events"]) for row in found]


def test_a_run_is_made_for_each_key_whose_assets_are_complete(scheduler: TestScheduler) -> None:
    install(scheduler, PartitionedAssetTimetable(Asset("a") & Asset("b")))
    tell(scheduler, "a", "eu", "us")
    tell(scheduler, "b", "us", "asia")
    scheduler.beats()
    assert made(scheduler) == [("us", 2)]
    tell(scheduler, "b", "eu")
    tell(scheduler, "a", "us")
    scheduler.beats()
    assert made(scheduler) == [("us", 2), ("eu", 2)]


def test_a_task_of_the_run_is_told_its_partition(scheduler: TestScheduler) -> None:
    install(scheduler, PartitionedAssetTimetable(Asset("a")))
    tell(scheduler, "a", "eu")
    scheduler.beats()
    assert [one["run"]["partition_key"] for one in scheduler.executor.taken] == ["eu"]


@pytest.mark.parametrize(("month", "days"), [("2023-02", 28), ("2024-02", 29), ("2024-04", 30), ("2024-12", 31)])
def test_a_month_runs_when_the_last_of_its_days_is_there_beside_a_monthly_asset(
    scheduler: TestScheduler, month: str, days: int
) -> None:
    """Case H14: daily and monthly inputs together."""
    timetable = PartitionedAssetTimetable(
        Asset("daily") & Asset("monthly"), partition_mapper_config={Asset("daily"): MONTHLY}
    )
    install(scheduler, timetable)
    tell(scheduler, "monthly", month)
    tell(scheduler, "daily", *(f"{month}-{day:02}" for day in range(1, days)))
    scheduler.beats()
    assert made(scheduler) == []
    tell(scheduler, "daily", f"{month}-{days:02}")
    scheduler.beats()
    assert made(scheduler) == [(month, days + 1)]


def test_one_event_may_make_runs_of_many_keys(scheduler: TestScheduler) -> None:
    install(scheduler, PartitionedAssetTimetable(Asset("a"), default_partition_mapper=DAYS_OF_WEEK))
    tell(scheduler, "a", "2024-02-28")
    scheduler.beats()
    assert made(scheduler) == [
        (f"2024-{day}", 1) for day in ("02-26", "02-27", "02-28", "02-29", "03-01", "03-02", "03-03")
    ]


@pytest.mark.parametrize(("key", "words"), [(None, "has no partition key"), ("not a day", "cannot be read")])
def test_an_event_that_belongs_to_no_partition_makes_no_run_but_a_warning(
    scheduler: TestScheduler, key: str | None, words: str
) -> None:
    install(scheduler, PartitionedAssetTimetable(Asset("a"), default_partition_mapper=MONTHLY))
    tell(scheduler, "a", key)
    scheduler.beats()
    assert made(scheduler) == []
    with scheduler.database.begin() as connection:
        (warning,) = rows(connection, "SELECT kind, message FROM dag_warning")
        assert rows(connection, "SELECT FROM asset_run_queue") == []
    assert warning["kind"] == "partition"
    assert words in warning["message"]


@pytest.mark.parametrize(
    ("mapper", "key"), [(WEEKLY, "9999-12-31"), (MONTHLY, "9999-12-31"), (DAYS_OF_WEEK, "9999-12-31"), (LONG, "a|b")]
)
def test_a_key_that_no_calendar_can_place_holds_up_no_other_dag(
    scheduler: TestScheduler, mapper: PartitionMapper, key: str
) -> None:
    install(scheduler, PartitionedAssetTimetable(Asset("a"), default_partition_mapper=mapper))
    other = PartitionedAssetTimetable(Asset("b"))
    scheduler.install(a_dag("other", TaskDocument("work"), schedule=other.to_document()))
    tell(scheduler, "a", key)
    tell(scheduler, "b", "eu")
    scheduler.beats()
    assert made(scheduler) == [("eu", 1)]
    with scheduler.database.begin() as connection:
        (warning,) = rows(connection, "SELECT dag_id, kind, message FROM dag_warning")
    assert (warning["dag_id"], warning["kind"]) == ("consumer", "partition")


def test_a_key_that_another_asset_of_the_condition_cannot_have_is_told_of(scheduler: TestScheduler) -> None:
    both = PartitionedAssetTimetable(Asset("a") & Asset("b"), partition_mapper_config={Asset("b"): MONTHLY})
    install(scheduler, both)
    tell(scheduler, "a", "eu", "2024-02")
    scheduler.beats()
    assert made(scheduler) == []
    with scheduler.database.begin() as connection:
        (warning,) = rows(connection, "SELECT message FROM dag_warning")
        assert rows(connection, "SELECT target_key FROM asset_run_queue") == [{"target_key": "2024-02"}]
    assert "partition key 'eu' of 'a'" in warning["message"]


def test_a_backlog_is_put_in_order_part_by_part_the_oldest_first_and_holds_up_no_other_consumer(
    scheduler: TestScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitioned, "MOST_PLACES", 6)
    install(scheduler, PartitionedAssetTimetable(Asset("a") | Asset("b")), max_active_runs=100)
    other = PartitionedAssetTimetable(Asset("c"), default_partition_mapper=DAYS_OF_WEEK)
    scheduler.install(a_dag("other", TaskDocument("work"), schedule=other.to_document()), max_active_runs=100)
    for number in (7, 6, 5):
        tell(scheduler, "b", f"k{number}")
        tell(scheduler, "a", f"k{number}")
    tell(scheduler, "a", "k4")
    tell(scheduler, "c", "2024-02-28", "2024-03-05")  # seven days each, more than a part has room for
    seen = []
    for _ in range(4):
        done = create_asset_runs(scheduler.context)
        runs = made(scheduler)
        seen.append((sorted(key for key, _ in runs if key.startswith("k")), len(runs), done.again))
    assert seen == [
        (["k6", "k7"], 9, True),
        (["k5", "k6", "k6", "k7"], 18, True),  # what of k6 did not fit is as if it had come later
        (["k4", "k5", "k6", "k6", "k7"], 19, False),
        (["k4", "k5", "k6", "k6", "k7"], 19, False),
    ]


def test_events_that_have_no_place_cost_a_statement_together(scheduler: TestScheduler) -> None:
    install(scheduler, PartitionedAssetTimetable(Asset("a")))
    counts = []
    for number in (1, 1, 50):
        tell(scheduler, "a", *[None] * number)
        with recorded_statements(scheduler.database) as seen:
            create_asset_runs(scheduler.context)
        counts.append(len(seen))
    assert counts[2] == counts[1]


def test_what_gathered_is_put_in_order_anew_when_the_schedule_is_edited(scheduler: TestScheduler) -> None:
    both = Asset("a") & Asset("b")
    install(scheduler, PartitionedAssetTimetable(both))
    tell(scheduler, "a", "2024-02-28", "2024-02-29")
    scheduler.beats()
    monthly = StartOfMonthMapper(input_format=DAY)
    edit(scheduler, PartitionedAssetTimetable(both, default_partition_mapper=monthly).to_document())
    scheduler.beats()
    tell(scheduler, "b", "2024-02-01")
    scheduler.beats()
    assert made(scheduler) == [("2024-02", 3)]


def test_a_consumer_that_is_no_longer_partitioned_takes_what_gathered_once(scheduler: TestScheduler) -> None:
    install(scheduler, PartitionedAssetTimetable(Asset("a") & Asset("b")))
    tell(scheduler, "a", "eu", "us")
    scheduler.beats()
    edit(scheduler, assets_document(Asset("a") | Asset("b")))
    scheduler.beats()
    tell(scheduler, "b", None)
    scheduler.beats()
    assert made(scheduler) == [(None, 2), (None, 1)]


def test_the_clock_makes_runs_that_each_have_a_partition_in_the_schedules_zone(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    midnight = datetime(2026, 1, 5, 23, tzinfo=UTC)
    clock.set(midnight - timedelta(hours=1))
    install(
        scheduler, CronPartitionTimetable("0 0 * * *", timezone="Europe/Berlin", key_format=DAY), next_run_at=midnight
    )
    clock.set(midnight)
    scheduler.beats()
    assert made(scheduler) == [("2026-01-06", 0)]
    with scheduler.database.begin() as connection:
        assert rows(connection, "SELECT partition_date FROM dag_run") == [{"partition_date": midnight}]


def test_backfills_and_runs_by_hand_of_a_clock_have_the_partitions_of_their_dates(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    clock.set(datetime(2026, 1, 10, tzinfo=UTC))
    install(scheduler, CronPartitionTimetable("0 0 * * *", timezone="UTC", key_format=DAY))
    first, last = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    with scheduler.database.begin() as connection:
        backfills.create(connection, "consumer", first, last, now=clock.now())
    scheduler.trigger("consumer", logical_date=datetime(2026, 1, 3, tzinfo=UTC))
    scheduler.trigger("consumer", logical_date=datetime(2026, 1, 4, tzinfo=UTC), partition_key="of my own")
    scheduler.trigger("consumer")
    assert [key for key, _ in made(scheduler)] == ["2026-01-01", "2026-01-02", "2026-01-03", "of my own", None]
