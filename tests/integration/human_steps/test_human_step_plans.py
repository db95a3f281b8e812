"""The inbox reads the open questions, however many were answered before; what wakes an instance reads its own."""

from __future__ import annotations

from datetime import date

import pytest
from sqlalchemy import Connection
from tests.integration.web.test_query_plans import statements_of
from tests.support.scheduling import a_dag, install

from treadle.document import TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.queries.human_steps import StepFilter, list_steps
from treadle_metadata.queries.paging import PageRequest
from treadle_metadata.statements import execute
from treadle_metadata.transitions import suspended

ANSWERED, OPEN = 20_000, 20
MONTH = date(2026, 1, 1)


FILL = (
    """
    INSERT INTO dag_run (dag_id, run_id, month, run_type, state, version_id, run_after, queued_at, triggered_by)
    SELECT dag_id, 'r', '2026-01-01', 'manual', 'running', version_id, %(now)s, %(now)s, 'test' FROM dag
    """,
    """
    INSERT INTO task_instance (month, dag_run_id, dag_id, task_id, map_index, state, operator, pool, pool_slots,
                               queue, priority_weight, ended_at)
    SELECT '2026-01-01', id, 'd', 'ask', n, CASE WHEN n > %(answered)s THEN 'up_for_reschedule' ELSE 'success' END,
           'x', 'default_pool', 1, 'default', 1, %(now)s
    FROM dag_run, generate_series(1, %(all)s) AS n
    """,
    """
    INSERT INTO human_step (task_instance_id, month, try_number, subject, options, multiple, params, assignees,
                            asked_at, answered_at)
    SELECT id, month, 1, 'Go?', '[]', false, '{}', '[]', %(now)s,
           CASE WHEN state = 'success' THEN %(now)s::timestamptz END
    FROM task_instance
    """,
    "ANALYZE task_instance, human_step",
)


@pytest.fixture
def history(database: Database, clock: ManualClock) -> None:
    """Many answered questions, and a few that wait."""
    with database.begin() as connection:
        install(connection, a_dag("d", TaskDocument("ask")), now=clock.now())
        execute(connection, "SET LOCAL session_replication_role = replica")
        for sql in FILL:
            execute(connection, sql, {"now": clock.now(), "all": ANSWERED + OPEN, "answered": ANSWERED})


def plan(connection: Connection, sql: str, parameters: object) -> str:
    return "\n".join(connection.exec_driver_sql(f"EXPLAIN {sql}", parameters).scalars().all())  # type: ignore[arg-type]


def test_the_inbox_reads_what_waits_and_a_withdrawal_its_own(database: Database, history: None) -> None:
    with database.begin() as connection:
        with statements_of(connection) as seen:
            page = list_steps(connection, StepFilter(answered=False), PageRequest(limit=10))
            list_steps(connection, StepFilter(), PageRequest(limit=10, cursor=""))
            suspended.wake_answered(connection, [page.rows[0]["id"]], month=MONTH, now=page.rows[0]["asked_at"])
        assert (len(page.rows), page.total) == (10, OPEN)
        text = "\n".join(plan(connection, sql, parameters) for sql, parameters in seen)
        assert "Seq Scan on human_step_2026_01" not in text, text
        assert "Seq Scan on task_instance_2026_01" not in text, text
