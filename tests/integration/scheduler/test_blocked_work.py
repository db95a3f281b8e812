"""Thousands of tasks that wait cost the others nothing: counted in statements and rows, not in time (case B2)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_scheduler.waking import Scope
from treadle_worker.protocol import Workload

BLOCKED, HOPS = 5000, 20


class Count:
    """Statements sent, and rows that came back or were changed."""

    def __init__(self) -> None:
        self.statements = 0
        self.rows = 0

    def note(self, _connection: Any, cursor: Any, *_: object) -> None:
        """Note one statement."""
        self.statements += 1
        self.rows += max(0, cursor.rowcount)


@contextmanager
def counting(database: Database) -> Iterator[Count]:
    count = Count()
    event.listen(database.engine, "after_cursor_execute", count.note)
    try:
        yield count
    finally:
        event.remove(database.engine, "after_cursor_execute", count.note)


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    """A scheduler with a chain DAG; the gate of the DAG ``blocked`` never opens."""
    one = TestScheduler(database, replace(settings, record_transitions=False), clock)
    end = one.executor.queue

    def queue(workloads: list[Workload]) -> None:
        end([workload for workload in workloads if workload["task_id"] != "gate"])

    one.executor.queue = queue  # type: ignore[assignment, method-assign]
    chain = [TaskDocument("t0")] + [TaskDocument(f"t{n}", upstream=(f"t{n - 1}",)) for n in range(1, HOPS)]
    one.install(a_dag("chain", *chain))
    return one


def run_chain(scheduler: TestScheduler) -> Count:
    """Run the chain, a hop for each beat, and return what the beats asked of the database."""
    run_id = scheduler.trigger("chain")
    scheduler.loop.wake(Scope.RUNS)
    with counting(scheduler.database) as count:
        for _ in range(3 * HOPS):
            scheduler.loop.beat()
            if scheduler.run_states("chain")[run_id] == "success":
                return count
    raise AssertionError(f"the chain did not end: {scheduler.task_states(run_id)}")


def test_five_thousand_blocked_tasks_cost_a_chain_beside_them_no_statement_and_no_row(scheduler: TestScheduler) -> None:
    run_chain(scheduler)
    alone = run_chain(scheduler)
    blocked = [TaskDocument(f"b{n}", upstream=("gate",)) for n in range(BLOCKED)]
    scheduler.install(a_dag("blocked", TaskDocument("gate"), *blocked, max_active_tasks=BLOCKED))
    run_id = scheduler.trigger("blocked")
    scheduler.beats()
    assert scheduler.task_states(run_id)["gate"] == "queued"
    beside = run_chain(scheduler)
    # A few rows of leeway for each hop: limits are counted by run, and there are two more of those.
    assert beside.statements <= alone.statements + HOPS // 4
    assert beside.rows <= alone.rows + 5 * HOPS < BLOCKED
