"""Why a DAG that assets schedule gets no run: what it waits for is told, as the scheduler sees it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.integration.why.conftest import Asking
from tests.support.holding import hold
from tests.support.scheduling import TestScheduler, a_dag

from treadle import Asset, MonthWindow, PartitionedAssetTimetable, RollupMapper, StartOfMonthMapper
from treadle.document import AssetCondition, AssetDocument, ScheduleDocument, TaskDocument
from treadle_metadata.assets.emitting import NewEvent, emit
from treadle_metadata.deciding.reasons import Blocker, Kind, Reason

A, B, C = (AssetCondition("asset", name) for name in "abc")
A_AND_B = AssetCondition("all", inner=(A, B))


def install(scheduler: TestScheduler, condition: AssetCondition, **changes: Any) -> None:
    outlets = (("asset", "a"), ("asset", "b"), ("asset", "c"), ("alias", "x"))
    scheduler.install(a_dag("producer", TaskDocument("make", outlets=outlets)))
    schedule = ScheduleDocument(kind="assets", condition=condition)
    limit = changes.get("max_active_runs")
    scheduler.install(a_dag("d", TaskDocument("work"), schedule=schedule, **changes), max_active_runs=limit)


def tell(scheduler: TestScheduler, name: str, key: str | None = None) -> None:
    with scheduler.database.begin() as connection:
        emit(connection, [NewEvent(name, partition_key=key)], now=scheduler.clock.now())


@pytest.mark.parametrize(
    ("condition", "told", "sentence", "asset"),
    [
        (A, "", "DAG 'd' waits for an event of a", "a"),
        (A_AND_B, "", "DAG 'd' waits for an event of a & b", "a"),
        (A_AND_B, "a", "DAG 'd' waits for an event of b; since its last run a had one", "b"),
        (
            AssetCondition("any", inner=(A_AND_B, C)),
            "b",
            "DAG 'd' waits for an event of a | c; since its last run b had one",
            "a",
        ),
        (AssetCondition("alias", "x"), "", "DAG 'd' waits for an event of alias x", "x"),
    ],
)
def test_what_is_awaited_is_told(
    scheduler: TestScheduler, ask: Asking, condition: AssetCondition, told: str, sentence: str, asset: str
) -> None:
    install(scheduler, condition)
    for name in told:
        tell(scheduler, name)
    scheduler.beats()
    found = ask.dag("d")
    assert (found.reason, found.sentence) == (Reason.ASSETS, sentence)
    assert found.blocked_by == Blocker(Kind.ASSET, asset)


@pytest.mark.parametrize("key", [("asset", "typo"), ("uri", "s3://nowhere"), ("alias", "nothing")])
def test_what_no_task_makes_is_told(scheduler: TestScheduler, ask: Asking, key: tuple[str, str]) -> None:
    install(scheduler, AssetCondition("all", inner=(A, AssetCondition(*key))))
    assert ask.dag("d").sentence.endswith(f"; no task has {key[1]} as an outlet")


def test_an_address_is_made_by_the_task_that_makes_an_asset_of_it(scheduler: TestScheduler, ask: Asking) -> None:
    install(scheduler, AssetCondition("uri", "s3://b/a"))
    scheduler.install(a_dag("defining", assets=(AssetDocument("a", "s3://b/a"),)))
    assert ask.dag("d").sentence == "DAG 'd' waits for an event of s3://b/a"


def test_a_consumer_whose_events_are_there_runs_at_the_next_beat_unless_its_runs_are_too_many(
    scheduler: TestScheduler, ask: Asking
) -> None:
    install(scheduler, A, max_active_runs=1)
    tell(scheduler, "a")
    assert ask.dag("d").reason is Reason.NEXT_BEAT
    hold(scheduler, "work")
    scheduler.beats()
    tell(scheduler, "a")
    scheduler.beats()
    found = ask.dag("d")
    assert found.reason is Reason.RUN_LIMIT
    assert "further events gather until one ends" in found.sentence


def test_a_partition_tells_which_keys_it_lacks(scheduler: TestScheduler, ask: Asking) -> None:
    mapper = RollupMapper(upstream_mapper=StartOfMonthMapper(input_format="%Y-%m-%d"), window=MonthWindow())
    schedule = PartitionedAssetTimetable(Asset("a"), default_partition_mapper=mapper).to_document()
    scheduler.install(a_dag("d", TaskDocument("work"), schedule=schedule))
    assert ask.dag("d").sentence == "DAG 'd' waits for an event with a partition key of a"
    for day in range(1, 27):
        tell(scheduler, "a", f"2026-02-{day:02}")
    scheduler.beats()
    assert ask.dag("d").sentence == (
        "DAG 'd' waits for 1 partition to be complete: '2026-02' lacks 2026-02-27, 2026-02-28 of a"
    )


def test_a_dag_of_clock_and_assets_tells_both(scheduler: TestScheduler, ask: Asking) -> None:
    schedule = ScheduleDocument(kind="cron", expressions=("0 6 * * *",), condition=A)
    next_run_at = scheduler.clock.now().replace(year=2027)
    scheduler.install(a_dag("d", TaskDocument("work"), schedule=schedule), next_run_at=next_run_at)
    found = ask.dag("d")
    assert found.reason is Reason.NOT_DUE
    assert "; by its assets, DAG 'd' waits for an event of a" in found.sentence
