"""DAGs take turns, in pools and in starting runs: no backlog of one holds up another of equal priority."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import DagDocument, ScheduleDocument, TaskDocument
from treadle_metadata import backfills, clearing
from treadle_metadata.clearing import Selection
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_scheduler.waking import Scope
from treadle_worker.protocol import Workload


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, replace(settings, record_transitions=False, parallelism=64), clock)


def a_pool(scheduler: TestScheduler, name: str, slots: int) -> None:
    with scheduler.database.begin() as connection:
        execute(
            connection,
            "INSERT INTO slot_pool (name, slots) VALUES (%(name)s, %(slots)s)",
            {"name": name, "slots": slots},
        )


def hold_all(scheduler: TestScheduler) -> list[Workload]:
    """Let the executor keep what it gets, until ``end`` is called."""
    kept: list[Workload] = []
    scheduler.executor.queue = kept.extend  # type: ignore[method-assign, assignment]
    return kept


def end(scheduler: TestScheduler, workloads: Iterable[Workload]) -> None:
    type(scheduler.executor).queue(scheduler.executor, list(workloads))


def beat(scheduler: TestScheduler) -> None:
    scheduler.loop.wake(Scope.EVERYTHING)
    scheduler.loop.beat()


def many(dag_id: str, number: int, **changes: Any) -> DagDocument:
    tasks = [TaskDocument(f"t{n}", **changes) for n in range(number)]
    return a_dag(dag_id, *tasks, max_active_tasks=1000)


def test_a_long_backlog_leaves_another_dag_its_share_of_the_slots(scheduler: TestScheduler) -> None:
    """Case H6: 200 older tasks of A, 5 of B, equal weights, 10 slots: B has its five at once."""
    a_pool(scheduler, "p", 10)
    kept = hold_all(scheduler)
    scheduler.install(many("a", 200, pool="p"))
    scheduler.install(many("b", 5, pool="p"))
    scheduler.trigger("a")
    scheduler.trigger("b")
    beat(scheduler)
    assert sorted(one["dag_id"] for one in kept) == ["a"] * 5 + ["b"] * 5


def test_a_dag_that_comes_late_gets_every_slot_that_becomes_free_until_it_has_its_share(
    scheduler: TestScheduler,
) -> None:
    a_pool(scheduler, "p", 10)
    kept = hold_all(scheduler)
    scheduler.install(many("a", 50, pool="p"))
    scheduler.install(many("b", 50, pool="p"))
    scheduler.trigger("a")
    scheduler.beats()
    assert len(kept) == 10
    scheduler.trigger("b")
    end(scheduler, kept[:4])
    scheduler.beats()
    assert [one["dag_id"] for one in kept[10:]] == ["b"] * 4


def test_a_pool_of_one_slot_goes_round_from_beat_to_beat(scheduler: TestScheduler) -> None:
    a_pool(scheduler, "one", 1)
    kept = hold_all(scheduler)
    for dag_id in "abc":
        scheduler.install(many(dag_id, 3, pool="one"))
        scheduler.trigger(dag_id)
    for _ in range(9):
        scheduler.beats()
        end(scheduler, kept[-1:])
    assert "".join(one["dag_id"] for one in kept) == "abcabcabc"


def test_a_task_behind_a_thousand_that_no_cap_lets_in_starts_in_the_next_beat(scheduler: TestScheduler) -> None:
    """Cases B5 and H6: a full pool, a full task, and 100 runs at their caps stand before it, with higher weights."""
    a_pool(scheduler, "full", 1)
    kept = hold_all(scheduler)
    scheduler.install(many("in_pool", 400, pool="full", priority_weight=9))
    capped = [TaskDocument(f"t{n}", priority_weight=8) for n in range(4)]
    scheduler.install(a_dag("capped", *capped, max_active_tasks=1, max_active_runs=200))
    single = TaskDocument("t", priority_weight=7, max_active_tis_per_dag=1)
    scheduler.install(a_dag("single", single, max_active_runs=200))
    scheduler.set_dag("capped", max_active_runs=200)
    scheduler.context.settings = replace(scheduler.context.settings, parallelism=110)
    scheduler.trigger("in_pool")
    for _ in range(100):
        scheduler.trigger("capped")
        scheduler.trigger("single")
    scheduler.beats()
    assert len(kept) == 1 + 100 + 1
    scheduler.install(a_dag("other", TaskDocument("t", weight_rule="absolute")))
    scheduler.trigger("other")
    for _ in range(2):
        beat(scheduler)
    assert kept[-1]["dag_id"] == "other"


def test_backfills_stand_behind_live_work_whatever_their_weight(scheduler: TestScheduler, clock: ManualClock) -> None:
    """Case H15."""
    a_pool(scheduler, "p", 2)
    kept = hold_all(scheduler)
    clock.set(datetime(2026, 1, 15, tzinfo=UTC))
    schedule = ScheduleDocument(kind="cron", expressions=("0 0 * * *",), style="interval")
    heavy = TaskDocument("t", pool="p", priority_weight=50)
    scheduler.install(a_dag("filled", heavy, schedule=schedule, start_date="2025-01-01T00:00:00+00:00"))
    scheduler.install(many("live", 3, pool="p"))
    with scheduler.database.begin() as connection:
        first, last = datetime(2025, 5, 1, tzinfo=UTC), datetime(2025, 5, 9, tzinfo=UTC)
        backfills.create(connection, "filled", first, last, max_active_runs=5, now=clock.now())
    scheduler.trigger("live")
    served = []
    for _ in range(4):
        scheduler.beats()
        served += [one["dag_id"] for one in kept]
        end(scheduler, kept)
        kept.clear()
    assert served[:3] == ["live"] * 3
    assert set(served[3:]) == {"filled"}


def test_queued_runs_of_two_dags_start_in_turn_and_end_together(scheduler: TestScheduler) -> None:
    """Case B7: 40 queued runs each, the older ones all of A, limit 5."""
    for dag_id in "ab":
        scheduler.install(a_dag(dag_id, TaskDocument("t"), max_active_runs=5))
    for dag_id in "ab":
        for _ in range(40):
            scheduler.trigger(dag_id)
    ended = {"a": 0, "b": 0}
    while min(ended.values()) < 40:
        beat(scheduler)
        ended = {one: list(scheduler.run_states(one).values()).count("success") for one in "ab"}
        assert abs(ended["a"] - ended["b"]) <= 5
    assert ended == {"a": 40, "b": 40}


def test_more_runs_than_a_beat_starts_are_taken_from_each_dag_in_turn(scheduler: TestScheduler) -> None:
    """Case B7, without a limit that would hold the first DAG back."""
    hold_all(scheduler)
    for dag_id in "ab":
        scheduler.install(a_dag(dag_id, TaskDocument("t"), max_active_runs=1000))
        for _ in range(120):
            scheduler.trigger(dag_id)
    beat(scheduler)
    started = [list(scheduler.run_states(one).values()).count("running") for one in "ab"]
    assert started[0] == started[1] > 0


CLEARED_RUNS = 500


def test_clearing_many_runs_keeps_the_limit_and_lets_another_dag_start_at_once(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    """Case A21: five tasks in each of many old runs are cleared, limit 3; a minutely DAG keeps its time."""
    kept = hold_all(scheduler)
    scheduler.install(many("old", 5))
    scheduler.set_dag("old", max_active_runs=3)
    with scheduler.database.begin() as connection:
        execute(
            connection, _PAST, {"runs": CLEARED_RUNS, "month": clock.now().date().replace(day=1), "now": clock.now()}
        )
        plan = clearing.clear(connection, Selection(dag_id="old"), now=clock.now())
        assert len(plan.cleared) == 5 * CLEARED_RUNS
    minutely = ScheduleDocument(kind="cron", expressions=("* * * * *",), style="trigger")
    document = a_dag("minutely", TaskDocument("t"), schedule=minutely, start_date="2026-01-15T00:00:00+00:00")
    scheduler.install(document, next_run_at=clock.now() + timedelta(minutes=1))
    for minute in range(1, 4):
        clock.advance(timedelta(minutes=1))
        beat(scheduler)
        assert len(scheduler.run_states("minutely")) == minute
        assert [one["dag_id"] for one in kept].count("minutely") == minute
        end(scheduler, [one for one in kept if one["dag_id"] == "minutely"][-1:])
        assert list(scheduler.run_states("old").values()).count("running") == 3
    for _ in range(3):
        running = [one for one in kept if one["dag_id"] == "old"]
        end(scheduler, running)
        beat(scheduler)
        with scheduler.database.begin() as connection:
            counted = rows(connection, "SELECT count(*) AS n FROM dag_run WHERE state = 'running' AND dag_id = 'old'")
        assert counted[0]["n"] <= 3


_PAST = """
    WITH run AS (
        INSERT INTO dag_run (dag_id, run_id, version_id, month, run_type, state, logical_date, run_after, queued_at,
                             started_at, ended_at, triggered_by)
        SELECT 'old', 'old_' || n, (SELECT version_id FROM dag WHERE dag_id = 'old'), %(month)s, 'scheduled', 'success',
               '2020-01-01'::timestamptz + n * interval '1 hour', %(now)s::timestamptz - interval '1 day', %(now)s,
               %(now)s, %(now)s, 'timetable'
        FROM generate_series(1, %(runs)s) AS n RETURNING id
    )
    INSERT INTO task_instance (month, dag_run_id, dag_id, task_id, state, operator, pool, pool_slots, queue,
                               priority_weight, ended_at)
    SELECT %(month)s, run.id, 'old', 't' || n, 'success', 'PythonOperator', 'default_pool', 1, 'default', 1, %(now)s
    FROM run, generate_series(0, 4) AS n
"""


def test_a_further_try_weighs_what_the_users_strategy_says(scheduler: TestScheduler, clock: ManualClock) -> None:
    a_pool(scheduler, "one", 1)
    kept = hold_all(scheduler)
    tried = TaskDocument("tried", pool="one", weights=(9, 4, 1), retries=3, retry_delay_seconds=0)
    others = [TaskDocument(f"w{n}", pool="one", weight_rule="absolute", priority_weight=n) for n in (2, 3, 5)]
    scheduler.install(a_dag("d", tried, *others))
    scheduler.trigger("d")
    scheduler.executor.outcome = lambda one: {"outcome": "failed" if one["task_id"] == "tried" else "success"}
    order = []
    for _ in range(7):
        scheduler.beats()
        order += [(one["task_id"], one["try_number"]) for one in kept]
        end(scheduler, kept)
        kept.clear()
        clock.advance(timedelta(seconds=1))
    first = [("tried", 1), ("w5", 1), ("tried", 2), ("w3", 1), ("w2", 1), ("tried", 3), ("tried", 4)]
    assert order == first
