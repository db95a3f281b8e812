"""Every list over the big tables reads an index and never a whole table, however long the history (cases E1, E14)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, event
from tests.support.scheduling import a_dag, install
from tests.support.web import LOGS_DAG

from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.queries.conditions import Between
from treadle_metadata.queries.dags import run_counts
from treadle_metadata.queries.events import EventFilter, list_events
from treadle_metadata.queries.paging import PageRequest
from treadle_metadata.queries.pools import list_pools
from treadle_metadata.queries.runs import RunFilter, list_runs
from treadle_metadata.queries.task_instances import InstanceFilter, list_instances
from treadle_metadata.statements import execute

RUNS = 20_000
BIG = ("dag_run", "task_instance", "audit_log")
PAGE = PageRequest()
WALK = PageRequest(cursor="")
LATELY = Between(gte=datetime(2026, 1, 15, 6, tzinfo=UTC))

LISTS: dict[str, tuple[Callable[[Connection], Any], str]] = {
    "newest runs of a DAG": (lambda one: list_runs(one, RunFilter(dag_id="weather"), WALK), "dag_run_newest_of_dag"),
    "newest runs of all": (lambda one: list_runs(one, RunFilter(), WALK), "dag_run_newest"),
    "runs of a DAG by logical date": (
        lambda one: list_runs(one, RunFilter(dag_id="other"), PageRequest(order_by=("-logical_date",), cursor="")),
        "dag_run_dag_id_logical_date_key",
    ),
    "runs of a DAG by name": (
        lambda one: list_runs(one, RunFilter(dag_id="other"), PageRequest(order_by=("run_id",), cursor="")),
        "dag_run_dag_id_run_id_key",
    ),
    "runs of a DAG that hold something in their conf": (
        lambda one: list_runs(one, RunFilter(dag_id="weather", conf_contains='{"a": 1}'), WALK),
        "dag_run_",
    ),
    "task instances of all in a state": (
        lambda one: list_instances(one, InstanceFilter(states=["success"]), WALK),
        "dag_run_newest",
    ),
    "running runs of a DAG": (
        lambda one: list_runs(one, RunFilter(dag_id="weather", states=["running"]), PAGE),
        "dag_run_unfinished",
    ),
    "running runs of all": (lambda one: list_runs(one, RunFilter(states=["running"]), PAGE), "dag_run_unfinished"),
    "failed runs of a DAG": (
        lambda one: list_runs(one, RunFilter(dag_id="weather", states=["failed"]), PAGE),
        "dag_run_failed_of_dag",
    ),
    "failed of the last hours": (
        lambda one: list_runs(one, RunFilter(states=["failed"], run_after=LATELY), PAGE),
        "dag_run_",
    ),
    "instances of a run": (
        lambda one: list_instances(one, InstanceFilter(dag_id="weather", run_id="weather19990"), PAGE),
        "task_instance_2026_01_dag_run_id_task_id_map_index_month_key",
    ),
    "use of pools": (lambda one: list_pools(one, PAGE), "task_instance_2026_01_pool_is_backfill_priority_weight"),
    "events of a DAG": (lambda one: list_events(one, EventFilter(dag_id="weather"), WALK), "audit_log_2026_01_dag_id"),
    "newest events": (lambda one: list_events(one, EventFilter(), WALK), "audit_log_2026_01_pkey"),
}


@pytest.fixture
def history(database: Database, clock: ManualClock) -> None:
    """20,000 runs of DAG other and 2,000 of weather, one instance each; 5 % failed, the newest 12 of each run."""
    with database.begin() as connection:
        install(connection, LOGS_DAG, now=clock.now())
        install(connection, a_dag("other"), now=clock.now())
        facts = {"now": clock.now(), "runs": RUNS}
        execute(
            connection,
            """
            INSERT INTO dag_run (dag_id, run_id, version_id, month, run_type, state, run_after, queued_at, ended_at,
                                 triggered_by, logical_date)
            SELECT dag_id, dag_id || n, version_id, '2026-01-01', 'manual',
                   CASE WHEN n > %(runs)s - 12 THEN 'running' WHEN n %% 20 = 0 THEN 'failed' ELSE 'success' END,
                   %(now)s - make_interval(mins => %(runs)s - n), %(now)s,
                   CASE WHEN n <= %(runs)s - 12 THEN %(now)s::timestamptz END, 'cli',
                   %(now)s - make_interval(mins => %(runs)s - n)
            FROM generate_series(1, %(runs)s) AS n JOIN dag ON dag.dag_id = 'other' OR n > %(runs)s - 2000
            """,
            facts,
        )
        execute(
            connection,
            """
            INSERT INTO task_instance (month, dag_run_id, dag_id, task_id, state, operator, pool, pool_slots, queue,
                                       priority_weight, ended_at)
            SELECT month, id, dag_id, 'fetch', 'success', 'x', 'default_pool', 1, 'default', 1, %(now)s FROM dag_run
            """,
            facts,
        )
        execute(
            connection,
            """
            INSERT INTO audit_log (month, happened_at, actor, event, dag_id)
            SELECT '2026-01-01', %(now)s, 'ann', 'login', CASE WHEN n %% 100 = 0 THEN 'weather' END
            FROM generate_series(1, %(runs)s) AS n
            """,
            facts,
        )
        for table in BIG:
            connection.exec_driver_sql(f"ANALYZE {table}")


@contextmanager
def statements_of(connection: Connection) -> Iterator[list[tuple[str, Any]]]:
    """Yield the list into which every SELECT that runs meanwhile is written."""
    seen: list[tuple[str, Any]] = []

    def note(_: Any, __: Any, sql: str, parameters: Any, *___: Any) -> None:
        if "SELECT" in sql:
            seen.append((sql, parameters))

    event.listen(connection, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(connection, "before_cursor_execute", note)


def test_no_list_reads_a_whole_table(database: Database, history: None) -> None:
    with database.begin() as connection:
        for name, (ask, index) in LISTS.items():
            with statements_of(connection) as seen:
                ask(connection)
            plans = [_plan(connection, sql, parameters) for sql, parameters in seen]
            text = "\n".join(plans)
            assert index in text, f"{name}:\n{text}"
            for table in BIG:
                assert f"Seq Scan on {table}_2026_01" not in text, f"{name}:\n{text}"
                assert f"Seq Scan on {table} " not in text, f"{name}:\n{text}"


def test_a_page_reads_few_rows_however_long_the_history(database: Database, history: None) -> None:
    with database.begin() as connection:
        for name in ("newest runs of a DAG", "newest runs of all", "running runs of all", "instances of a run"):
            with statements_of(connection) as seen:
                LISTS[name][0](connection)
            for sql, parameters in seen:
                assert _pages_read(connection, sql, parameters) < 400, name


def test_counts_of_runs_stop_nowhere_but_totals_do(database: Database, history: None, clock: ManualClock) -> None:
    with database.begin() as connection:
        page = list_runs(connection, RunFilter(dag_id="other"), PAGE)
        assert (page.total, page.capped) == (10_001, True)
        later = list_runs(connection, RunFilter(dag_id="other"), PageRequest(offset=15_000))
        assert later.total == 15_051
        last = list_runs(connection, RunFilter(dag_id="other"), PageRequest(offset=RUNS - 10))
        assert (last.total, last.capped, len(last.rows)) == (RUNS, False, 10)
        failed = RunFilter(states=["failed"], ended=Between(gte=clock.now() - timedelta(hours=1)))
        assert list_runs(connection, failed, PAGE).total == 1098
        counts = {row["state"]: row["count"] for row in run_counts(connection, ["other"])}
        assert sum(counts.values()) == RUNS


def _plan(connection: Connection, sql: str, parameters: Any) -> str:
    lines = connection.exec_driver_sql(f"EXPLAIN {sql}", parameters).scalars().all()
    return "\n".join(lines)


def _pages_read(connection: Connection, sql: str, parameters: Any) -> int:
    options = "ANALYZE, BUFFERS, FORMAT JSON"
    (plan,) = connection.exec_driver_sql(f"EXPLAIN ({options}) {sql}", parameters).scalar_one()
    return int(plan["Plan"]["Shared Hit Blocks"]) + int(plan["Plan"]["Shared Read Blocks"])
