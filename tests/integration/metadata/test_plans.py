"""Hot statements touch no finished row: each is explained on a database with a long history (design section 4).

They are explained as a scheduler has them planned: once, for all parameters, among the partitions of many months.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, event
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import DeadlineDocument, ExpandArgument, ExpandDocument, ScheduleDocument, TaskDocument
from treadle_metadata import partitions
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows

BIG = r"Seq Scan on ((task_instance|task_attempt|xcom)_2026_01|dag_run|callback|deadline)"
"""The tables that hold the history; the partitions of other months are empty."""

HISTORY = """
    WITH run AS (
        INSERT INTO dag_run (dag_id, run_id, version_id, month, run_type, state, logical_date, run_after, queued_at,
                             started_at, ended_at, triggered_by)
        SELECT 'old', 'old_' || n, (SELECT version_id FROM dag WHERE dag_id = 'old'), '2026-01-01', 'scheduled',
               'success', '2000-01-01'::timestamptz + n * interval '1 hour', '2026-01-01', '2026-01-01', '2026-01-01',
               '2026-01-01', 'timetable'
        FROM generate_series(1, 1500) AS n RETURNING id
    ), told AS (
        INSERT INTO callback (dag_run_id, event, state, version_id, created_at)
        SELECT run.id, 'run_success', 'success', 1, '2026-01-01' FROM run
    ), missed AS (
        INSERT INTO deadline (dag_run_id, clear_number, position, reference, base_at, due_at, missed_at)
        SELECT run.id, 0, 0, 'dagrun_queued_at', '2026-01-01', '2026-01-01', '2026-01-01' FROM run
    ), instance AS (
        INSERT INTO task_instance (month, dag_run_id, dag_id, task_id, state, operator, pool, pool_slots, queue,
                                   priority_weight, ended_at, attempt_id)
        SELECT '2026-01-01', run.id, 'old', 'task_' || n, 'success', 'PythonOperator', 'default_pool', 1, 'default', 1,
               '2026-01-01', gen_random_uuid()
        FROM run, generate_series(1, 15) AS n RETURNING id, attempt_id
    ), attempt AS (
        INSERT INTO task_attempt (attempt_id, month, task_instance_id, try_number, version_id, executor,
                                  retry_delay_seconds, outcome, queued_at, log_path)
        SELECT attempt_id, '2026-01-01', id, 1, 1, 'local', 0, 'success', '2026-01-01', 'x' FROM instance
    )
    INSERT INTO xcom (task_instance_id, key, month, value, created_at)
    SELECT id, 'return_value', '2026-01-01', '1', '2026-01-01' FROM instance
"""


@contextmanager
def recorded(database: Database) -> Iterator[dict[str, Any]]:
    """Collect the statements that the database runs, each with its last parameters."""
    seen: dict[str, Any] = {}

    def keep(_conn: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        seen[statement] = parameters

    event.listen(database.engine, "before_cursor_execute", keep)
    try:
        yield seen
    finally:
        event.remove(database.engine, "before_cursor_execute", keep)


@pytest.fixture
def busy(own_database: Database, settings: Settings, clock: ManualClock) -> Iterator[TestScheduler]:
    """A scheduler with a long history behind it."""
    database = Database(own_database.url, plan_once=True)
    scheduler = TestScheduler(database, settings, clock)
    scheduler.install(a_dag("old", TaskDocument("task_1")))
    with own_database.begin() as connection:
        for number in range(3):
            partitions.ensure(connection, date(2025, 10 + number, 1))
        execute(connection, HISTORY)
    with own_database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")
    yield scheduler
    database.close()


def generic_plan(connection: Connection, prepared: Mapping[str, str], statement: str, parameters: Any) -> str:
    """Return the plan that this connection keeps for a statement that it has prepared, whatever the parameters."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
    text = re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", statement).replace("%%", "%")
    name = prepared[text]
    values = ", ".join("%s" for _ in names)
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    cursor = psycopg.ClientCursor(driver)
    cursor.execute(
        f'EXPLAIN EXECUTE "{name}"{f"({values})" if names else ""}',
        [parameters[one] for one in names],
    )
    return "\n".join(row[0] for row in cursor)


def test_no_statement_of_the_beat_or_the_execution_api_scans_a_big_table(
    busy: TestScheduler, clock: ManualClock
) -> None:
    schedule = ScheduleDocument(kind="cron", expressions=("0 * * * *",), style="interval")
    expand = ExpandDocument("product", (ExpandArgument("x", task_id="make"),))
    document = a_dag(
        "hourly",
        TaskDocument("make", retries=1, retry_delay_seconds=1, callbacks=("retry",)),
        TaskDocument("each", upstream=("make",), expand=expand, depends_on_past=True),
        TaskDocument("last", upstream=("each",)),
        schedule=schedule,
        start_date="2026-01-15T10:00:00+00:00",
        catchup=True,
        max_active_runs=1,
        dagrun_timeout_seconds=3600,
        callbacks=("failure", "success"),
        deadlines=(
            DeadlineDocument("dagrun_queued_at", 0.0),
            DeadlineDocument("average_runtime", 0.0, min_runs=1, max_runs=5),
        ),
    )
    tries: list[str] = []

    def outcome(workload: Any) -> dict[str, Any]:
        tries.append(workload["attempt_id"])
        if len(tries) == 1:
            return {"outcome": "failed"}
        return {"outcome": "success", "xcoms": [{"key": "return_value", "value": "[1]", "length": 1}]}

    busy.executor.outcome = outcome
    with recorded(busy.database) as seen:
        busy.install(document, next_run_at=clock.now())
        for _ in range(6):
            busy.beats()
            clock.advance(timedelta(seconds=10))
    assert list(busy.run_states("hourly").values()) == ["success", "success"]
    told = {one["callback"]["event"] for one in busy.executor.taken if "callback" in one}
    assert told == {"task_retry", "run_success", "deadline"}
    offences = []
    with busy.database.begin() as connection:
        found = rows(connection, "SELECT name, statement FROM pg_prepared_statements")
        prepared = {row["statement"]: row["name"] for row in found}
        for statement, parameters in seen.items():
            if statement.lstrip().startswith(("SELECT 'r'", "INSERT INTO dag", "SELECT run_id, state")):
                continue  # what the test itself asks
            if not statement.lstrip().upper().startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")):
                continue
            plan = generic_plan(connection, prepared, statement, parameters)
            if re.search(BIG, plan):
                offences.append(f"{statement}\n{plan}")
    assert len(seen) > 20
    assert offences == [], "\n\n".join(offences)
