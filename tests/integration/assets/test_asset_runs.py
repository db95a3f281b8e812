"""Runs that assets make: conditions, coalescing, pauses and limits, on a real database with an instant executor."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.statements import recorded_statements
from tests.support.versions import add_version

from treadle.document import AssetCondition, AssetDocument, DagDocument, ScheduleDocument, TaskDocument
from treadle_metadata.assets.emitting import NewEvent, emit
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.deletion import delete_dag, delete_run
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_scheduler.duties.create_asset_runs import create_asset_runs
from treadle_worker.protocol import Workload

A, B, C = (AssetCondition("asset", name) for name in "abc")


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def consumer(dag_id: str, condition: AssetCondition, **changes: Any) -> DagDocument:
    return a_dag(
        dag_id,
        TaskDocument("work"),
        schedule=ScheduleDocument(kind="assets", condition=condition),
        **changes,
    )


def every(*parts: AssetCondition) -> AssetCondition:
    return AssetCondition("all", inner=parts)


def any_of(*parts: AssetCondition) -> AssetCondition:
    return AssetCondition("any", inner=parts)


def tell(scheduler: TestScheduler, *names: str, **facts: Any) -> list[int]:
    """Emit an event of each asset, as somebody from outside does; return their ids."""
    with scheduler.database.begin() as connection:
        return emit(connection, [NewEvent(name, **facts) for name in names], now=scheduler.clock.now())


def eaten(scheduler: TestScheduler, dag_id: str) -> list[list[int]]:
    """Return the events of each run of a consumer."""
    with scheduler.database.begin() as connection:
        found = rows(
            connection,
            """
            SELECT array_agg(taken.event_id ORDER BY taken.event_id) AS events
            FROM dag_run AS run JOIN dag_run_asset_event AS taken ON taken.dag_run_id = run.id
            WHERE run.dag_id = %(dag_id)s GROUP BY run.id ORDER BY run.id
            """,
            {"dag_id": dag_id},
        )
    return [row["events"] for row in found]


def test_a_task_that_updates_an_asset_makes_a_run_of_its_consumer_that_lists_the_event(
    scheduler: TestScheduler,
) -> None:
    def outcome(workload: Workload) -> dict[str, Any]:
        events: list[dict[str, Any]] = [
            {"name": "a", "uri": "s3://a", "extra": {"rows": 3}, "aliases": [], "partition_key": None}
        ]
        return {"outcome": "success", "asset_events": events if workload["task_id"] == "load" else []}

    scheduler.executor.outcome = outcome
    scheduler.install(a_dag("producer", TaskDocument("load", outlets=(("asset", "a"),))))
    scheduler.install(consumer("consumer", A))
    run_id = scheduler.trigger("producer")
    scheduler.beats()
    (made,) = scheduler.run_states("consumer")
    assert made.startswith("asset_triggered__")
    assert scheduler.run_states("consumer") == {made: "success"}
    with scheduler.database.begin() as connection:
        (event,) = rows(connection, "SELECT * FROM asset_event")
        (run,) = rows(connection, "SELECT * FROM dag_run WHERE dag_id = 'consumer'")
    assert (event["source_dag_id"], event["source_task_id"], event["source_run_id"]) == ("producer", "load", run_id)
    assert event["extra"] == {"rows": 3}
    assert (run["run_type"], run["triggered_by"], run["logical_date"]) == ("asset_triggered", "asset", None)
    assert eaten(scheduler, "consumer") == [[event["id"]]]


@pytest.mark.parametrize("outcome", ["failed", "failed_without_retry", "skipped"])
def test_a_task_that_does_not_succeed_has_updated_nothing(scheduler: TestScheduler, outcome: str) -> None:
    events: list[dict[str, Any]] = [{"name": "a", "extra": {}, "aliases": [], "partition_key": None}]
    scheduler.executor.outcome = lambda _: {"outcome": outcome, "asset_events": events}
    scheduler.install(a_dag("producer", TaskDocument("load")))
    scheduler.install(consumer("consumer", A))
    scheduler.trigger("producer")
    scheduler.beats()
    assert scheduler.run_states("consumer") == {}


def test_a_report_with_an_update_that_cannot_be_stored_stores_nothing_of_itself(
    scheduler: TestScheduler, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    events: list[dict[str, Any]] = [{"name": "a" * 1501, "extra": {}, "aliases": [], "partition_key": None}]
    scheduler.executor.outcome = lambda _: {"outcome": "success", "asset_events": events}
    scheduler.install(a_dag("producer", TaskDocument("load")))
    run_id = scheduler.trigger("producer")
    scheduler.beats()
    assert "name must be a text of 1 to 1500 characters" in caplog.text
    assert scheduler.task_states(run_id) == {"load": "queued"}
    with database.begin() as connection:
        assert rows(connection, "SELECT FROM asset") == rows(connection, "SELECT FROM asset_event") == []


def test_what_is_deleted_takes_its_events_places_along(scheduler: TestScheduler) -> None:
    scheduler.install(consumer("consumer", every(A, B)))
    tell(scheduler, "a", "b")
    scheduler.beats()
    tell(scheduler, "a")
    (run_id,) = scheduler.run_states("consumer")
    with scheduler.database.begin() as connection:
        delete_run(connection, "consumer", run_id, now=scheduler.clock.now())
        assert rows(connection, "SELECT FROM dag_run_asset_event") == []
        delete_dag(connection, "consumer")
        assert rows(connection, "SELECT FROM asset_run_queue") == []
        assert rows(connection, "SELECT FROM asset_reference") == []
        assert len(rows(connection, "SELECT FROM asset_event")) == 3


def test_all_waits_for_an_event_of_each_since_the_last_run(scheduler: TestScheduler) -> None:
    scheduler.install(consumer("both", every(A, B)))
    first = tell(scheduler, "a") + tell(scheduler, "a")
    scheduler.beats()
    assert eaten(scheduler, "both") == []
    first += tell(scheduler, "b")
    scheduler.beats()
    assert eaten(scheduler, "both") == [first]
    second = tell(scheduler, "b")
    scheduler.beats()
    assert eaten(scheduler, "both") == [first]
    second += tell(scheduler, "a")
    scheduler.beats()
    assert eaten(scheduler, "both") == [first, second]


def test_any_runs_for_each_and_a_nested_condition_for_what_it_says(scheduler: TestScheduler) -> None:
    scheduler.install(consumer("either", any_of(A, B)))
    scheduler.install(consumer("nested", any_of(every(A, B), C)))
    first = tell(scheduler, "a")
    scheduler.beats()
    assert (eaten(scheduler, "either"), eaten(scheduler, "nested")) == ([first], [])
    second = tell(scheduler, "c")
    scheduler.beats()
    assert (eaten(scheduler, "either"), eaten(scheduler, "nested")) == ([first], [first + second])


def test_events_that_gather_before_a_beat_are_one_run_that_lists_them_all(scheduler: TestScheduler) -> None:
    """Case A42: the policy is to coalesce; no event is lost."""
    scheduler.install(consumer("consumer", A))
    told = [event for _ in range(5) for event in tell(scheduler, "a", "a")]
    scheduler.beats()
    assert eaten(scheduler, "consumer") == [told]


def test_a_paused_consumer_keeps_its_events_for_when_it_goes_on(scheduler: TestScheduler) -> None:
    scheduler.install(consumer("consumer", A))
    scheduler.set_dag("consumer", is_paused=True)
    told = tell(scheduler, "a") + tell(scheduler, "a")
    scheduler.beats()
    assert scheduler.run_states("consumer") == {}
    scheduler.set_dag("consumer", is_paused=False)
    scheduler.beats()
    assert eaten(scheduler, "consumer") == [told]


def test_a_consumer_at_its_run_limit_gets_what_gathered_when_its_run_ends(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    """Case A43: no further event is needed."""
    scheduler.executor.outcome = lambda _: {"outcome": "failed"}
    work = TaskDocument("work", retries=1, retry_delay_seconds=300.0)
    schedule = ScheduleDocument(kind="assets", condition=A)
    scheduler.install(a_dag("consumer", work, schedule=schedule, max_active_runs=1), max_active_runs=1)
    first = tell(scheduler, "a")
    scheduler.beats()
    later = []
    for _ in range(3):
        clock.advance(timedelta(minutes=1))
        later += tell(scheduler, "a")
        scheduler.beats()
    assert eaten(scheduler, "consumer") == [first]
    clock.advance(timedelta(minutes=5))
    scheduler.beats()
    assert eaten(scheduler, "consumer") == [first, later]


def test_a_new_consumer_begins_with_the_first_event_after_it_was_registered(scheduler: TestScheduler) -> None:
    tell(scheduler, "a")
    scheduler.install(consumer("consumer", A))
    scheduler.beats()
    assert eaten(scheduler, "consumer") == []
    told = tell(scheduler, "a")
    scheduler.beats()
    assert eaten(scheduler, "consumer") == [told]


def test_each_consumer_gets_each_event_once(scheduler: TestScheduler) -> None:
    for number in range(3):
        scheduler.install(consumer(f"consumer{number}", A))
    told = [tell(scheduler, "a")[0] for _ in range(4)]
    scheduler.beats()
    assert [eaten(scheduler, f"consumer{number}") for number in range(3)] == [[told]] * 3


def test_an_alias_brings_the_events_that_were_emitted_through_it_and_no_others(scheduler: TestScheduler) -> None:
    scheduler.install(consumer("by_alias", AssetCondition("alias", "daily files")))
    scheduler.install(consumer("both_ways", any_of(AssetCondition("alias", "daily files"), A)))
    plain = tell(scheduler, "a")
    through = tell(scheduler, "a", aliases=("daily files",))
    scheduler.beats()
    assert eaten(scheduler, "by_alias") == [through]
    assert eaten(scheduler, "both_ways") == [plain + through]


def test_a_reference_by_address_meets_the_events_of_that_address(scheduler: TestScheduler) -> None:
    scheduler.install(consumer("consumer", AssetCondition("uri", "s3://bucket/a")))
    scheduler.install(a_dag("other", assets=(AssetDocument("a", "s3://bucket/a"), AssetDocument("b", "s3://bucket/b"))))
    told = tell(scheduler, "a")
    tell(scheduler, "b")
    with scheduler.database.begin() as connection:
        told += emit(connection, [NewEvent(None, "s3://bucket/a")], now=scheduler.clock.now())
    scheduler.beats()
    assert eaten(scheduler, "consumer") == [told]


def test_assets_or_time_makes_runs_of_both_kinds_and_the_clock_takes_no_events(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    schedule = ScheduleDocument(kind="cron", expressions=("0 * * * *",), condition=every(A, B))
    noon = datetime(2026, 1, 5, 12, tzinfo=UTC)
    clock.set(noon - timedelta(minutes=1))
    scheduler.install(a_dag("mixed", TaskDocument("work"), schedule=schedule), next_run_at=noon)
    told = tell(scheduler, "a")
    clock.set(noon)
    scheduler.beats()
    told += tell(scheduler, "b")
    scheduler.beats()
    assert eaten(scheduler, "mixed") == [told]
    assert [one.partition("__")[0] for one in scheduler.run_states("mixed")] == ["scheduled", "asset_triggered"]


def test_a_consumer_that_waits_for_more_costs_the_beats_nothing(scheduler: TestScheduler) -> None:
    scheduler.install(consumer("both", every(A, B)))
    tell(scheduler, "a")
    scheduler.beats()
    with scheduler.database.begin() as connection:
        assert rows(connection, "SELECT FROM asset_run_queue WHERE is_new") == []
        assert len(rows(connection, "SELECT FROM asset_run_queue")) == 1


def test_a_condition_that_is_edited_is_asked_of_what_has_gathered(scheduler: TestScheduler) -> None:
    scheduler.install(consumer("consumer", every(A, B)))
    told = tell(scheduler, "a")
    scheduler.beats()
    with scheduler.database.begin() as connection:
        add_version(connection, consumer("consumer", any_of(A, B)), now=scheduler.clock.now())
    scheduler.beats()
    assert eaten(scheduler, "consumer") == [told]


def test_a_dag_that_is_gone_from_its_file_gathers_nothing(scheduler: TestScheduler) -> None:
    scheduler.install(consumer("consumer", A))
    scheduler.set_dag("consumer", is_active=False)
    tell(scheduler, "a")
    scheduler.set_dag("consumer", is_active=True)
    scheduler.beats()
    assert eaten(scheduler, "consumer") == []


def test_the_number_of_statements_does_not_grow_with_the_number_of_consumers(scheduler: TestScheduler) -> None:
    from_one, from_many = (_statements(scheduler, number) for number in (1, 40))
    assert from_many == from_one


def _statements(scheduler: TestScheduler, number: int) -> int:
    for one in range(number):
        scheduler.install(consumer(f"of_{number}_{one}", A))
    tell(scheduler, "a")
    with recorded_statements(scheduler.database) as seen:
        assert create_asset_runs(scheduler.context).count >= number
    return len(seen)
