"""Mappings over nothing (cases A29, A36), and large mapped groups, whose cost is that of what changes (case B3)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event
from tests.support.functions import Functions
from tests.support.scheduling import TestScheduler, a_dag

from treadle import DAG, task
from treadle.document import DagDocument, ExpandArgument, ExpandDocument, GroupDocument, TaskDocument
from treadle.serialization import document_of
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_scheduler.waking import Scope
from treadle_worker.protocol import Workload

CHAINED = 5


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


@task
def one_more(x: int) -> int:
    return x + 1


@task(trigger_rule="all_done")
def count(xs: Any) -> int:
    return len(xs)


def run(scheduler: TestScheduler, dag: DAG) -> tuple[dict[str, str], str]:
    scheduler.executor.outcome = Functions(scheduler.database, dag)
    scheduler.install(document_of(dag))
    run_id = scheduler.trigger(dag.dag_id)
    scheduler.beats()
    return scheduler.task_states(run_id), scheduler.run_states(dag.dag_id)[run_id]


def test_a_join_that_takes_anything_runs_after_a_mapping_over_nothing(scheduler: TestScheduler) -> None:
    """Case A29."""
    with DAG("nothing") as dag:
        count(one_more.expand(x=[]))
    expected = {"one_more": "skipped", "count": "success"}
    assert run(scheduler, dag) == (expected, "success")
    tested = dag.test()
    assert (tested.states, tested.xcoms) == (expected, {"count": 0})


def test_a_chain_of_mappings_over_nothing_is_skipped_and_its_run_succeeds(scheduler: TestScheduler) -> None:
    """Case A36."""
    with DAG("nothing") as dag:
        one_more.override(task_id="b").expand(x=one_more.override(task_id="a").expand(x=[]))
    expected = {"a": "skipped", "b": "skipped"}
    assert run(scheduler, dag) == (expected, "success")
    assert dag.test().states == expected


@contextmanager
def rows_seen(database: Database) -> Iterator[list[int]]:
    """Count the rows that statements bring or change."""
    seen = [0]

    def note(_connection: Any, cursor: Any, *_: object) -> None:
        seen[0] += max(0, cursor.rowcount)

    event.listen(database.engine, "after_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(database.engine, "after_cursor_execute", note)


def a_group(items: int) -> DagDocument:
    names = [f"g.t{number}" for number in range(CHAINED)]
    tasks = [
        TaskDocument(name, group_id="g", upstream=tuple(names[max(0, number - 1) : number]))
        for number, name in enumerate(names)
    ]
    expand = ExpandDocument("product", (ExpandArgument("x", length=items),))
    return a_dag(f"g{items}", *tasks, groups=(GroupDocument("g", expand=expand),), max_active_tasks=4)


def test_what_an_instance_of_a_mapped_group_costs_does_not_grow_with_the_group(scheduler: TestScheduler) -> None:
    """Case B3: rows that are brought or changed while one instance ends and the next one of its index is queued."""
    held: list[Workload] = []
    end = scheduler.executor.queue
    scheduler.executor.queue = held.extend  # type: ignore[assignment, method-assign]
    cost = {}
    for items in (100, 500):
        scheduler.install(a_group(items))
        scheduler.trigger(f"g{items}")
        for _ in range(3):
            scheduler.loop.wake(Scope.EVERYTHING)
            scheduler.loop.beat()
        assert len(held) == 4
        with rows_seen(scheduler.database) as seen:
            end([held.pop(0)])
            scheduler.loop.wake(Scope.TASKS)
            scheduler.loop.beat()
        assert len(held) == 4
        cost[items] = seen[0]
        end(held)
        held.clear()
        scheduler.set_dag(f"g{items}", is_paused=True)
    assert cost[500] == cost[100] < 100
