"""Reports of attempts read the instances that they name, however many others are active."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import event

from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.statements import execute, tuples
from treadle_metadata.transitions import attempts

MONTH = date(2026, 1, 1)

ACTIVE = """
    INSERT INTO task_instance (month, dag_run_id, dag_id, task_id, state, operator, pool, pool_slots, queue,
                               priority_weight, attempt_id, try_number, lease_until, queued_at)
    SELECT %(month)s, n / 100, 'd', 't' || n, 'queued', 'PythonOperator', 'default_pool', 1, 'default', 1,
           gen_random_uuid(), 1, now(), now()
    FROM generate_series(1, 2000) AS n
"""


@pytest.fixture
def planned_once(own_database: Database) -> Iterator[Database]:
    """A database whose statistics are of a time at which nothing was active, and that plans without parameters."""
    database = Database(own_database.url, plan_once=True)
    with database.begin() as connection:
        execute(connection, ACTIVE.replace("'queued', 'Pyth", "'none', 'Pyth"), {"month": MONTH})
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE task_instance")
    with database.begin() as connection:
        execute(connection, "DELETE FROM task_instance")
        execute(connection, ACTIVE, {"month": MONTH})
    yield database
    database.close()


@contextmanager
def explained(database: Database) -> Iterator[list[str]]:
    """Collect the generic plan of each statement that is run, before it is run."""
    plans: list[str] = []

    def explain(_conn: Any, cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        if "task_instance" in statement:
            cursor.execute("EXPLAIN " + statement, parameters)
            plans.append("\n".join(row[0] for row in cursor.fetchall()))

    event.listen(database.engine, "before_cursor_execute", explain)
    try:
        yield plans
    finally:
        event.remove(database.engine, "before_cursor_execute", explain)


def test_a_report_reads_no_index_of_all_that_is_active(planned_once: Database, clock: ManualClock) -> None:
    now, later = clock.now(), clock.now() + timedelta(seconds=30)
    with planned_once.begin() as connection:
        (instance, attempt_id), *_ = tuples(connection, "SELECT id, attempt_id FROM task_instance ORDER BY id LIMIT 1")
    report = {
        "task_instance_id": instance,
        "attempt_id": str(attempt_id),
        "hostname": "here",
        "started_at": now.isoformat(),
        "ended_at": now.isoformat(),
        "outcome": "success",
    }
    stranger = report | {"attempt_id": str(uuid4())}
    with explained(planned_once) as plans, planned_once.begin() as connection:
        waiting = [AttemptRef(attempt_id=attempt_id, task_instance_id=instance, month=MONTH)]
        assert attempts.keep_queued(connection, waiting, lease_until=later) == {attempt_id}
        assert attempts.start(connection, [report, stranger], month=MONTH, now=now, lease_until=later) == {attempt_id}
        assert attempts.beat(connection, [report], month=MONTH, lease_until=later) == {attempt_id}
        attempts.finish(connection, [report], month=MONTH, now=now)
    used = {name for plan in plans for name in re.findall(r"using (\S+) on task_instance_", plan)}
    assert len(plans) == 5
    assert used == {"task_instance_2026_01_pkey"}, "\n\n".join(plans)
    assert not any("Seq Scan on task_instance_" in plan for plan in plans), "\n\n".join(plans)
