"""What the queue costs: rows that are read, counted by PostgreSQL itself, do not grow with a backlog (cases B2, B5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import event
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata import admission, claims
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.deciding.turns import Turns
from treadle_metadata.planning import runs_in_the_way, startable_runs
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute

READY = """
    WITH run AS (
        INSERT INTO dag_run (dag_id, run_id, version_id, month, run_type, state, run_after, queued_at, started_at,
                             triggered_by)
        SELECT dag_id, 'ready_' || n, version_id, '2026-01-01', 'manual', 'running', '2026-01-01', '2026-01-01',
               '2026-01-01', 'cli'
        FROM dag, generate_series(1, CASE WHEN dag_id = 'huge' THEN %(backlog)s ELSE 1 END) AS n RETURNING id, dag_id
    )
    INSERT INTO task_instance (month, dag_run_id, dag_id, task_id, state, operator, pool, pool_slots, queue,
                               priority_weight)
    SELECT '2026-01-01', run.id, run.dag_id, 't' || n, 'scheduled', 'PythonOperator', 'default_pool', 1, 'default', 1
    FROM run, generate_series(1, 5) AS n
"""

QUEUED = """
    INSERT INTO dag_run (dag_id, run_id, version_id, month, run_type, state, run_after, queued_at, triggered_by)
    SELECT dag_id, 'queued_' || n, version_id, '2026-01-01', 'manual', 'queued', '2026-01-01', '2026-01-01', 'cli'
    FROM dag, generate_series(1, CASE WHEN dag_id = 'huge' THEN %(backlog)s ELSE 2 END) AS n
"""


@pytest.fixture
def scheduler(own_database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    """Twenty small DAGs, and one that is to have a backlog."""
    one = TestScheduler(own_database, settings, clock)
    for dag_id in ["huge", *(f"small_{n:02}" for n in range(20))]:
        one.install(a_dag(dag_id, TaskDocument("t1")))
    return one


def fill(scheduler: TestScheduler, sql: Any, backlog: int) -> None:
    with scheduler.database.begin() as connection:
        execute(connection, sql, {"backlog": backlog})
    with scheduler.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")


def rows_read(
    scheduler: TestScheduler, ask: Callable[[Any], object], table: str, *, admitting: bool = False
) -> tuple[float, set[str]]:
    """Return how many rows of ``table`` the statements of ``ask`` look at, and the kinds of scans that do it."""
    seen: list[tuple[str, Any]] = []

    def keep(_conn: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        seen.append((statement, parameters))

    with scheduler.database.begin() as connection:
        if admitting:
            claims.try_admission_lock(connection)
        event.listen(scheduler.database.engine, "before_cursor_execute", keep)
        try:
            ask(connection)
        finally:
            event.remove(scheduler.database.engine, "before_cursor_execute", keep)
        total, kinds = 0.0, set()
        for statement, parameters in seen:
            explained = connection.exec_driver_sql(
                f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters
            ).scalar_one()
            for node in _nodes(explained[0]["Plan"]):
                if node.get("Relation Name", "").startswith(table):
                    read = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
                    total += read * node["Actual Loops"]
                    kinds.add(node["Node Type"])
        return total, kinds


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for one in plan.get("Plans", []):
        yield from _nodes(one)


def test_a_backlog_of_one_dag_adds_nothing_to_what_admission_reads(scheduler: TestScheduler) -> None:
    def ask(connection: Any) -> object:
        return admission.candidates(
            connection, most={"default_pool": 50}, full=admission.Full(), turns=Turns(), executor="instant"
        )

    fill(scheduler, READY, 200)
    short, _ = rows_read(scheduler, ask, "task_instance", admitting=True)
    fill(scheduler, READY.replace("'ready_'", "'more_'"), 3000)
    long, kinds = rows_read(scheduler, ask, "task_instance", admitting=True)
    assert long <= short + 150  # each small DAG has five more, too; the huge one 15,000
    assert "Seq Scan" not in kinds


def test_a_backlog_of_one_dag_adds_nothing_to_what_the_start_of_runs_reads(scheduler: TestScheduler) -> None:
    def ask(connection: Any) -> object:
        dags = claims.claim_dags_with_queued_runs(connection, now=scheduler.clock.now())
        limits = {dag["dag_id"]: 3 for dag in dags}
        runs_in_the_way(connection, {"huge": 3})
        return startable_runs(connection, limits, set(), now=scheduler.clock.now(), most=100)

    fill(scheduler, QUEUED, 500)
    short, _ = rows_read(scheduler, ask, "dag_run")
    fill(scheduler, QUEUED.replace("'queued_'", "'more_'"), 3000)
    long, kinds = rows_read(scheduler, ask, "dag_run")
    assert long <= short + 100
    assert "Seq Scan" not in kinds
