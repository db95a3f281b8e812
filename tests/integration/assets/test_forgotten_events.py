"""Old events of assets are forgotten where nothing needs them, and only there."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import AssetCondition, ScheduleDocument, TaskDocument
from treadle_metadata.assets import forgetting
from treadle_metadata.assets.emitting import NewEvent, emit
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.deletion import delete_run
from treadle_metadata.settings import Settings
from treadle_metadata.statements import tuples

A, B = AssetCondition("asset", "a"), AssetCondition("asset", "b")


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    scheduler = TestScheduler(database, settings, clock)
    for dag_id, condition in (("of_a", A), ("of_both", AssetCondition("all", inner=(A, B)))):
        scheduler.install(
            a_dag(dag_id, TaskDocument("work"), schedule=ScheduleDocument(kind="assets", condition=condition))
        )
    return scheduler


def tell(scheduler: TestScheduler, name: str) -> int:
    with scheduler.database.begin() as connection:
        return emit(connection, [NewEvent(name, aliases=("x",))], now=scheduler.clock.now())[0]


def left(scheduler: TestScheduler) -> list[int]:
    with scheduler.database.begin() as connection:
        return [row[0] for row in tuples(connection, "SELECT id FROM asset_event ORDER BY id")]


def forget(scheduler: TestScheduler) -> int:
    scheduler.clock.advance(timedelta(days=1))
    before = scheduler.clock.now() - timedelta(hours=1)
    with scheduler.database.begin() as connection:
        counted = forgetting.count(connection, before)
    assert forgetting.forget(scheduler.database, before) == counted
    return counted


def test_an_event_goes_with_the_last_run_that_was_made_of_it(scheduler: TestScheduler) -> None:
    first, second = tell(scheduler, "a"), tell(scheduler, "b")
    scheduler.beats()
    newest = tell(scheduler, "a"), tell(scheduler, "b")
    assert forget(scheduler) == 0
    with scheduler.database.begin() as connection:
        runs = tuples(connection, "SELECT DISTINCT run.dag_id, run.run_id FROM dag_run AS run ORDER BY 1")
        for dag_id, run_id in runs:
            delete_run(connection, dag_id, run_id, now=scheduler.clock.now())
    assert forget(scheduler) == 2
    assert left(scheduler) == list(newest)
    with scheduler.database.begin() as connection:
        assert (
            tuples(connection, "SELECT FROM asset_alias_event WHERE event_id = ANY(%(ids)s)", {"ids": [first, second]})
            == []
        )


def test_events_that_a_consumer_still_waits_with_stay_and_so_does_the_newest_of_each_asset(
    scheduler: TestScheduler,
) -> None:
    waiting = [tell(scheduler, "b"), tell(scheduler, "b"), tell(scheduler, "b")]
    assert forget(scheduler) == 0
    assert left(scheduler) == waiting


def test_young_events_stay_and_a_walk_goes_on_over_several_batches(
    scheduler: TestScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgetting, "BATCH", 2)
    with scheduler.database.begin() as connection:
        old = [emit(connection, [NewEvent("of_nobody")], now=scheduler.clock.now())[0] for _ in range(5)]
    scheduler.clock.advance(timedelta(days=1))
    with scheduler.database.begin() as connection:
        young = [emit(connection, [NewEvent("of_nobody")], now=scheduler.clock.now())[0] for _ in range(2)]
    assert forgetting.forget(scheduler.database, scheduler.clock.now()) == len(old)
    assert left(scheduler) == young
