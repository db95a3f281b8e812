"""Limits of runs, tasks, pools and executors, on a real database (several schedulers: ``concurrency``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event
from tests.support.marks import mark_task
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import ExpandArgument, ExpandDocument, TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings, SettingsError, load
from treadle_metadata.statements import execute, rows
from treadle_worker.protocol import Workload


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def held(scheduler: TestScheduler) -> list[Workload]:
    """Let the executor keep what it gets, until ``end`` is called."""
    kept: list[Workload] = []
    scheduler.executor.queue = kept.extend  # type: ignore[method-assign, assignment]
    return kept


def end(scheduler: TestScheduler, workloads: Iterable[Workload]) -> None:
    type(scheduler.executor).queue(scheduler.executor, list(workloads))


def set_pool(scheduler: TestScheduler, name: str, slots: int, *, include_deferred: bool = False) -> None:
    with scheduler.database.begin() as connection:
        execute(
            connection,
            """
            INSERT INTO slot_pool (name, slots, include_deferred) VALUES (%(name)s, %(slots)s, %(deferred)s)
            ON CONFLICT (name) DO UPDATE SET slots = excluded.slots
            """,
            {"name": name, "slots": slots, "deferred": include_deferred},
        )


def test_the_default_of_active_runs_holds_for_dags_that_set_none_from_its_next_change_on(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    """Case A19: the default is 16, then a scheduler starts with 2."""
    first = TestScheduler(database, replace(settings, max_active_runs_per_dag=16), clock)
    first.install(a_dag("d", TaskDocument("t")))
    second = TestScheduler(database, replace(settings, max_active_runs_per_dag=2), clock)
    kept = held(second)
    for _ in range(10):
        second.trigger("d")
    second.beats()
    assert sorted(second.run_states("d").values()) == ["queued"] * 8 + ["running"] * 2
    assert len(kept) == 2


def test_instances_of_one_mapped_task_run_one_at_a_time_when_it_says_so(scheduler: TestScheduler) -> None:
    """Case A22: ten items, cap 1."""
    kept = held(scheduler)
    ten = ExpandDocument("product", (ExpandArgument("x", length=10),))
    scheduler.install(a_dag("d", TaskDocument("each", expand=ten, max_active_tis_per_dag=1)))
    scheduler.trigger("d")
    for count in range(1, 11):
        scheduler.beats()
        assert len(kept) == count
        end(scheduler, kept[-1:])
    scheduler.beats()
    assert list(scheduler.run_states("d").values()) == ["success"]


def test_a_pool_that_shrinks_under_way_ends_nothing_and_lets_in_one_at_a_time(scheduler: TestScheduler) -> None:
    """Case A24: tasks of 3 slots, 6 slots, then 4, then 2."""
    kept = held(scheduler)
    set_pool(scheduler, "six", 6)
    scheduler.install(a_dag("d", *(TaskDocument(f"t{n}", pool="six", pool_slots=3) for n in range(6))))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert len(kept) == 2
    set_pool(scheduler, "six", 4)
    for number in range(2):
        end(scheduler, kept[number : number + 1])
        scheduler.beats()
        assert len(kept) == 2 + number
    set_pool(scheduler, "six", 2)
    end(scheduler, kept[2:])
    scheduler.beats()
    assert len(kept) == 3
    waiting = [row["waiting_for"] for row in instances(scheduler, run_id) if row["state"] == "scheduled"]
    assert set(waiting) == {"it can never run: it asks for 3 slots of pool 'six', which has 2"}
    set_pool(scheduler, "six", -1)
    scheduler.beats()
    assert len(kept) == 6
    assert {row["waiting_for"] for row in instances(scheduler, run_id)} == {None}


def instances(scheduler: TestScheduler, run_id: str) -> list[Any]:
    with scheduler.database.begin() as connection:
        return list(
            rows(
                connection,
                """
                SELECT instance.* FROM task_instance AS instance JOIN dag_run AS run ON run.id = instance.dag_run_id
                WHERE run.run_id = %(run_id)s
                """,
                {"run_id": run_id},
            )
        )


@pytest.mark.parametrize(("include_deferred", "started"), [(True, 1), (False, 3)])
def test_deferred_tasks_hold_slots_of_the_pools_that_say_so_and_no_place_of_any_cap(
    scheduler: TestScheduler, include_deferred: bool, started: int
) -> None:
    kept = held(scheduler)
    set_pool(scheduler, "p", 2, include_deferred=include_deferred)
    scheduler.context.settings = replace(scheduler.context.settings, parallelism=2)
    scheduler.install(
        a_dag("d", *(TaskDocument(f"t{n}", pool="p", max_active_tis_per_dag=1) for n in range(2)), max_active_tasks=2)
    )
    scheduler.install(a_dag("other", TaskDocument("t"), max_active_tasks=1))
    scheduler.trigger("d")
    scheduler.beats()
    assert len(kept) == 2
    with scheduler.database.begin() as connection:
        execute(connection, "UPDATE task_instance SET state = 'running' WHERE state = 'queued'")
        execute(connection, "UPDATE task_instance SET state = 'deferred' WHERE state = 'running'")
    kept.clear()
    scheduler.trigger("d")
    scheduler.trigger("other")
    scheduler.context.settings = replace(scheduler.context.settings, parallelism=4)
    scheduler.beats()
    assert len(kept) == started


def test_an_executor_has_a_limit_of_its_own_beside_that_of_all(scheduler: TestScheduler) -> None:
    kept = held(scheduler)
    settings = replace(scheduler.context.settings, parallelism=8, executor_parallelism="instant = 3, far=2")
    scheduler.context.settings = settings
    scheduler.context.executors = {"instant": scheduler.executor, "far": scheduler.executor}
    near = [TaskDocument(f"n{number}", priority_weight=9) for number in range(9)]
    far = [TaskDocument(f"f{number}", executor="far") for number in range(9)]
    scheduler.install(a_dag("d", *near, *far, max_active_tasks=100))
    scheduler.trigger("d")
    scheduler.beats()
    assert sorted(one["task_id"][0] for one in kept) == ["f"] * 2 + ["n"] * 3
    end(scheduler, [one for one in kept if one["task_id"][0] == "f"][:1])
    scheduler.beats()
    assert sorted(one["task_id"][0] for one in kept) == ["f"] * 3 + ["n"] * 3


@pytest.mark.parametrize("value", ["local", "local=", "=3", "local=many", "local=-1"])
def test_a_limit_of_an_executor_that_cannot_be_read_is_refused_at_the_start(value: str) -> None:
    with pytest.raises(SettingsError, match="expected NAME=NUMBER"):
        load({}, executor_parallelism=value)


def test_a_run_whose_worker_died_before_the_start_gives_its_place_back(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    """Case A71: limit 1; the attempt is handed over and never heard of."""
    scheduler.install(a_dag("d", TaskDocument("t", retries=0), max_active_runs=1))
    plain = scheduler.executor.queue
    held(scheduler)
    first, second = scheduler.trigger("d"), scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.task_states(first) == {"t": "queued"}
    scheduler.executor.queue = plain  # type: ignore[method-assign]
    for _ in range(12):
        clock.advance(timedelta(seconds=5))
        scheduler.beats()
    assert scheduler.run_states("d") == {first: "success", second: "success"}
    assert [one["try_number"] for one in scheduler.executor.taken] == [1, 1]


def test_six_hundred_ends_in_one_tick_are_a_few_statements(scheduler: TestScheduler) -> None:
    """Case B8: counted in statements; the heartbeat of a scheduler is a thread of its own."""
    kept = held(scheduler)
    settings = replace(scheduler.context.settings, parallelism=1000, record_transitions=False)
    scheduler.context.settings = settings
    set_pool(scheduler, "wide", -1)
    tasks = [TaskDocument(f"t{number}", pool="wide") for number in range(600)]
    scheduler.install(a_dag("d", *tasks, TaskDocument("last", upstream=("t0",)), max_active_tasks=1000))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert len(kept) == 600
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    event.listen(scheduler.database.engine, "before_cursor_execute", note)
    try:
        end(scheduler, kept[:600])
        scheduler.loop.wake()
        scheduler.loop.beat()
    finally:
        event.remove(scheduler.database.engine, "before_cursor_execute", note)
    assert scheduler.task_states(run_id)["t599"] == "success"
    assert len(statements) <= 30, statements


def test_a_marked_task_frees_its_slot_at_once(scheduler: TestScheduler) -> None:
    kept = held(scheduler)
    set_pool(scheduler, "one", 1)
    scheduler.install(a_dag("d", TaskDocument("a", pool="one"), TaskDocument("b", pool="one")))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    with scheduler.database.begin() as connection:
        mark_task(connection, "d", run_id, kept[0]["task_id"], "success", now=scheduler.clock.now())
    scheduler.beats()
    assert sorted(one["task_id"] for one in kept) == ["a", "b"]
