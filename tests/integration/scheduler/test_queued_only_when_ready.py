"""Tasks are looked for only where one may be ready, and found whatever made it so."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute
from treadle_scheduler.waking import Scope
from treadle_worker.protocol import Workload


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def beat(scheduler: TestScheduler) -> None:
    """Run a beat of the narrowest kind."""
    scheduler.loop._call.take()
    scheduler.loop.wake(Scope.TASKS)
    scheduler.loop.beat()


def test_after_all_that_was_found_is_queued_nothing_is_looked_for(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("pair", TaskDocument("a"), TaskDocument("b", upstream=("a",))))
    run = scheduler.trigger("pair")
    scheduler.loop.beat()
    assert not scheduler.context.may_queue
    beat(scheduler)
    assert scheduler.task_states(run) == {"a": "success", "b": "success"}
    assert not scheduler.context.may_queue


def test_what_stays_behind_a_limit_is_looked_for_in_each_beat(scheduler: TestScheduler) -> None:
    with scheduler.database.begin() as connection:
        execute(connection, "UPDATE slot_pool SET slots = 1")
    scheduler.install(a_dag("wide", *(TaskDocument(f"t{number}") for number in range(3))))
    run = scheduler.trigger("wide")
    scheduler.loop.beat()
    assert scheduler.context.may_queue
    for _ in range(3):
        beat(scheduler)
    assert set(scheduler.task_states(run).values()) == {"success"}
    assert not scheduler.context.may_queue


def test_a_task_that_was_handed_back_is_queued_in_the_next_beat(scheduler: TestScheduler) -> None:
    tries: list[str] = []

    def outcome(workload: Workload) -> dict[str, Any]:
        tries.append(workload["attempt_id"])
        return {"outcome": "handed_back" if len(tries) == 1 else "success"}

    scheduler.executor.outcome = outcome
    scheduler.install(a_dag("one", TaskDocument("a")))
    run = scheduler.trigger("one")
    scheduler.loop.beat()
    assert scheduler.task_states(run) == {"a": "scheduled"}
    beat(scheduler)
    assert scheduler.task_states(run) == {"a": "success"}
