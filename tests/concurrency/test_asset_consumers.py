"""Events of assets under several schedulers and many producers: each is in exactly one run of each consumer."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from tests.support.crowds import Crowd
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.waiting import wait_until

from treadle import Asset, PartitionedAssetTimetable
from treadle.document import AssetCondition, ScheduleDocument, TaskDocument
from treadle_metadata.assets.emitting import NewEvent, emit
from treadle_metadata.clock import ManualClock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows, tuples
from treadle_scheduler.waking import Scope

A, B = AssetCondition("asset", "a"), AssetCondition("asset", "b")
EMPTY = TaskDocument("work", is_empty=True)


def together(acts: Sequence[Callable[[], object]]) -> None:
    """Run acts at the same moment, each in a thread of its own."""
    barrier = threading.Barrier(len(acts))

    def run(act: Callable[[], object]) -> None:
        barrier.wait()
        act()

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def tell(database: Database, *events: NewEvent) -> None:
    database.run(lambda connection: emit(connection, events, now=SystemClock().now()))


def is_at_rest(database: Database) -> bool:
    with database.begin() as connection:
        left = tuples(
            connection,
            """
            SELECT (SELECT count(*) FROM asset_run_queue WHERE is_new)
                 + (SELECT count(*) FROM dag_run WHERE state IN ('queued', 'running'))
            """,
        )
    return bool(left[0][0] == 0)


@pytest.mark.parametrize("schedulers", [2, 4])
def test_a_thousand_events_are_each_in_one_run_of_each_consumer(
    database: Database, settings: Settings, clock: ManualClock, schedulers: int
) -> None:
    """Case A44: 1,000 events from four producers while two or four schedulers are at work."""
    one = TestScheduler(database, settings, clock)
    one.install(a_dag("of_a", EMPTY, schedule=ScheduleDocument(kind="assets", condition=A)))
    either = AssetCondition("any", inner=(A, B))
    one.install(a_dag("of_either", EMPTY, schedule=ScheduleDocument(kind="assets", condition=either)))
    names = itertools.cycle("ab")
    with Crowd(settings, schedulers) as crowd:

        def produce() -> None:
            for _ in range(25):
                tell(database, *(NewEvent(next(names)) for _ in range(10)))
                for loop in crowd.loops:
                    loop.wake(Scope.RUNS)

        together([produce] * 4)
        for loop in crowd.loops:
            loop.wake(Scope.RUNS)
        wait_until(lambda: is_at_rest(database), 60)
    with database.begin() as connection:
        events = rows(
            connection, "SELECT event.id, asset.name FROM asset_event event JOIN asset ON asset.id = asset_id"
        )
        taken = tuples(connection, "SELECT dag_id, event_id FROM dag_run_asset_event")
    assert len(events) == 1000
    of_a = [("of_a", event["id"]) for event in events if event["name"] == "a"]
    assert Counter(map(tuple, taken)) == Counter([*of_a, *(("of_either", event["id"]) for event in events)])
    assert set(one.run_states("of_a").values()) == {"success"}


def test_two_producers_in_the_same_moment_lose_no_event(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    """Case A42: 50 times two events at once are 100 events in 50 to 100 runs."""
    one = TestScheduler(database, settings, clock)
    one.install(a_dag("consumer", EMPTY, schedule=ScheduleDocument(kind="assets", condition=A)))
    with Crowd(settings, 2) as crowd:
        for _ in range(50):
            together([lambda: tell(database, NewEvent("a"))] * 2)
            for loop in crowd.loops:
                loop.wake(Scope.RUNS)
            wait_until(lambda: is_at_rest(database), 30)
    with database.begin() as connection:
        taken = tuples(connection, "SELECT count(*), count(DISTINCT event_id) FROM dag_run_asset_event")
    assert tuple(taken[0]) == (100, 100)
    assert 50 <= len(one.run_states("consumer")) <= 100


def test_four_assets_of_one_key_at_once_are_one_partition_and_one_run(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    """Case A46: four events in parallel from four connections."""
    one = TestScheduler(database, settings, clock)
    assets = Asset("a") & Asset("b") & Asset("c") & Asset("d")
    one.install(a_dag("consumer", EMPTY, schedule=PartitionedAssetTimetable(assets).to_document()))
    with Crowd(settings, 2) as crowd:
        for key in range(10):

            def act(name: str, key: int = key) -> Callable[[], object]:
                def tell_and_wake() -> None:
                    tell(database, NewEvent(name, partition_key=f"day {key}"))
                    for loop in crowd.loops:
                        loop.wake(Scope.RUNS)

                return tell_and_wake

            together([act(name) for name in "abcd"])
        wait_until(lambda: is_at_rest(database), 30)
    with database.begin() as connection:
        assert rows(connection, "SELECT * FROM asset_run_queue") == []
        runs = tuples(
            connection,
            """
            SELECT run.partition_key, count(*) FROM dag_run run JOIN dag_run_asset_event t ON t.dag_run_id = run.id
            GROUP BY run.id ORDER BY run.partition_key
            """,
        )
    assert [tuple(run) for run in runs] == [(f"day {key}", 4) for key in range(10)]


def test_producers_of_the_same_new_assets_never_meet_in_a_deadlock(database: Database) -> None:
    def produce(order: Sequence[str]) -> Callable[[], object]:
        def act() -> None:
            with database.begin() as connection:
                emit(connection, [NewEvent(name) for name in order], now=SystemClock().now())

        return act

    names = [f"asset {number}" for number in range(50)]
    together([produce(names), produce(names[::-1]), produce(names[25:] + names[:25])])
    with database.begin() as connection:
        assert tuples(connection, "SELECT count(*) FROM asset")[0][0] == 50
        assert tuples(connection, "SELECT count(*) FROM asset_event")[0][0] == 150
