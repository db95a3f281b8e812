"""An answer costs the same however long the history: no statement of it reads a whole big table (case E1)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, event
from tests.integration.why.conftest import Asking
from tests.support.holding import hold
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata.deciding.reasons import Reason
from treadle_metadata.statements import execute

BIG = ("dag_run", "task_instance", "task_attempt")


def a_history(connection: Connection, scheduler: TestScheduler) -> None:
    """Give DAG ``d`` 20,000 finished runs of one task."""
    facts = {"now": scheduler.clock.now(), "month": scheduler.clock.now().date().replace(day=1)}
    execute(
        connection,
        """
        INSERT INTO dag_run (dag_id, run_id, version_id, month, run_type, state, logical_date, run_after, queued_at,
                             ended_at, triggered_by)
        SELECT dag_id, 'old' || n, version_id, %(month)s, 'manual', 'success', %(now)s - make_interval(hours => n),
               %(now)s, %(now)s, %(now)s, 'cli'
        FROM dag CROSS JOIN generate_series(1000, 21000) AS n WHERE dag_id = 'd'
        """,
        facts,
    )
    execute(
        connection,
        """
        INSERT INTO task_instance (month, dag_run_id, dag_id, task_id, state, operator, pool, pool_slots, queue,
                                   priority_weight, ended_at, attempt_id)
        SELECT month, id, dag_id, 'a', 'success', 'x', 'default_pool', 1, 'default', 1, %(now)s, gen_random_uuid()
        FROM dag_run WHERE run_id LIKE 'old%%'
        """,
        facts,
    )
    execute(
        connection,
        """
        INSERT INTO task_attempt (attempt_id, month, task_instance_id, try_number, version_id, executor,
                                  retry_delay_seconds, queued_at, log_path)
        SELECT attempt_id, month, id, 1, 1, 'instant', 0, %(now)s, 'x' FROM task_instance
        WHERE state = 'success' AND try_number = 0
        """,
        facts,
    )
    for table in BIG:
        connection.exec_driver_sql(f"ANALYZE {table}")


@pytest.fixture
def run_id(scheduler: TestScheduler) -> str:
    """A run with a long history: a runs, b waits for a, c for the cap, e for its process, p for the run before."""
    hold(scheduler, "a", "p", unstarted=("e",))
    tasks = (
        TaskDocument("a", priority_weight=9),
        TaskDocument("e", priority_weight=8),
        TaskDocument("b", upstream=("a",)),
        TaskDocument("c"),
        TaskDocument("p", priority_weight=99, depends_on_past=True),
    )
    scheduler.install(a_dag("d", *tasks, max_active_tasks=2))
    now = scheduler.clock.now()
    scheduler.trigger("d", run_id="before", logical_date=now - timedelta(days=1))
    scheduler.trigger("d", run_id="now", logical_date=now)
    scheduler.beats()
    with scheduler.database.begin() as connection:
        a_history(connection, scheduler)
    return "now"


@contextmanager
def selects(scheduler: TestScheduler) -> Iterator[list[tuple[str, Any]]]:
    """Yield the list into which each statement that runs meanwhile is written."""
    seen: list[tuple[str, Any]] = []

    def note(_: Any, __: Any, sql: str, parameters: Any, *___: Any) -> None:
        seen.append((sql, parameters))

    event.listen(scheduler.database.engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(scheduler.database.engine, "before_cursor_execute", note)


def test_no_answer_reads_a_whole_table(scheduler: TestScheduler, ask: Asking, run_id: str) -> None:
    with selects(scheduler) as seen:
        reasons = [ask.task("d", run_id, name).reason for name in "abcep"]
        ask.run("d", run_id)
        ask.dag("d")
    assert reasons == [Reason.RUNNING, Reason.TRIGGER_RULE, Reason.DAG_CAP, Reason.STARTING, Reason.PAST_RUN]
    with scheduler.database.begin() as connection:
        for sql, parameters in seen:
            plan = "\n".join(connection.exec_driver_sql(f"EXPLAIN {sql}", parameters).scalars())
            for table in BIG:
                assert f"Seq Scan on {table}_2026_01" not in plan, f"{sql}\n{plan}"
                assert f"Seq Scan on {table} " not in plan, f"{sql}\n{plan}"
