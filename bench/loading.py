"""Fills a database with a long past: finished runs, their task instances and attempts, spread over months.

For the benchmark ``history``. PostgreSQL makes the rows itself; they are copied, frozen, into tables made in the same
transaction, which get their indexes when they are attached as partitions: no write-ahead log, and no work left for
autovacuum. A load that is cut off leaves whole months.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import psycopg
from sqlalchemy import Connection

from bench.documents import install
from bench.report import progress
from treadle.document import DagDocument, TaskDocument
from treadle_metadata import partitions
from treadle_metadata.connection import Database
from treadle_metadata.identifiers import month_of
from treadle_metadata.statements import tuples

SPACING_SECONDS = 2.0
"""From one run to the next, so that a month can hold all that are asked for."""

_RUNS = """
    INSERT INTO dag_run (id, dag_id, run_id, version_id, month, run_type, state, logical_date, interval_start,
                         interval_end, run_after, queued_at, started_at, ended_at, triggered_by)
    SELECT %(first_run)s::bigint + n, dag.dag_id, 'past__' || %(month)s || '_' || n, dag.version_id, %(month)s,
           'scheduled', 'success', at, at, at + interval '1 second', at + interval '1 second',
           at + interval '1 second', at + interval '1 second', at + interval '5 seconds', 'timetable'
    FROM generate_series(0, %(runs)s::int - 1) AS n
    CROSS JOIN LATERAL (SELECT %(month)s::date::timestamptz + n * make_interval(secs => %(spacing)s) AS at) AS moment
    JOIN dag ON dag.dag_id = (%(dags)s::text[])[1 + n %% cardinality(%(dags)s::text[])]
"""

_ROWS = """
    FROM generate_series(0::bigint, %(runs)s::bigint * %(tasks)s - 1) AS n
    CROSS JOIN LATERAL (
        SELECT %(first_instance)s::bigint + n AS id, %(first_run)s::bigint + n / %(tasks)s AS run_id,
               (%(dags)s::text[])[1 + (n / %(tasks)s) %% cardinality(%(dags)s::text[])] AS dag_id,
               'task_' || n %% %(tasks)s AS task_id,
               %(month)s::date::timestamptz + (n / %(tasks)s) * make_interval(secs => %(spacing)s) AS at
    ) AS made
    CROSS JOIN LATERAL (
        SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000'
                || lpad(to_hex((8::bigint << 60) | n), 16, '0'))::uuid AS attempt_id
    ) AS named
"""

_INSTANCES = f"""
    SELECT id, %(month)s::date, run_id, dag_id, task_id, -1, 'success', 1, 1, 'PythonOperator', 'default_pool', 1,
           'default', 1, attempt_id, at, at + interval '5 ms', at + interval '9 ms', at + interval '2 s', 'worker', 4711
    {_ROWS}
"""
_INSTANCE_COLUMNS = """id, month, dag_run_id, dag_id, task_id, map_index, state, try_number, max_tries, operator, pool,
    pool_slots, queue, priority_weight, attempt_id, scheduled_at, queued_at, started_at, ended_at, hostname, pid"""

_ATTEMPTS = f"""
    SELECT attempt_id, %(month)s::date, id, 1, 1::bigint, 'local', 300::float8, 'success', at + interval '5 ms',
           at + interval '9 ms', at + interval '2 s', 'worker', 4711, 0, 25000000::bigint, 0.01::float8,
           dag_id || '/past__' || run_id || '/' || task_id || '/attempt=1.jsonl'
    {_ROWS}
"""
_ATTEMPT_COLUMNS = """attempt_id, month, task_instance_id, try_number, version_id, executor, retry_delay_seconds,
    outcome, queued_at, started_at, ended_at, hostname, pid, exit_code, peak_rss_bytes, cpu_seconds, log_path"""


@dataclass(frozen=True, slots=True)
class Past:
    """How much past: ``runs`` of ``tasks`` each over ``months`` up to now, dealt out to ``dags`` in turn."""

    runs: int
    tasks: int
    months: int
    dags: tuple[str, ...]


def load(database: Database, past: Past, now: datetime) -> None:
    """Load the whole past, the present month last, and have the planner know it."""
    with database.begin() as connection:
        known = {row[0] for row in tuples(connection, "SELECT dag_id FROM dag")}
        for dag_id in sorted(set(past.dags) - known):
            tasks = tuple(TaskDocument(f"task_{number}") for number in range(past.tasks))
            install(connection, DagDocument(dag_id, tasks=tasks), now=now)
    share = past.runs // past.months
    for month in _months(now, past.months):
        began = time.perf_counter()
        with database.begin() as source, database.begin() as target:
            _load_month(source, target, past, month, share)
        seconds = time.perf_counter() - began
        progress(f"{month:%Y-%m}: {share} runs, {share * past.tasks} task instances and attempts in {seconds:.1f} s")
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM (FREEZE, ANALYZE)")
        connection.exec_driver_sql("CHECKPOINT")


def _months(now: datetime, count: int) -> Sequence[date]:
    last = month_of(now)
    numbers = range(last.year * 12 + last.month - count, last.year * 12 + last.month)
    return [date(number // 12, number % 12 + 1, 1) for number in numbers]


def _load_month(source: Connection, target: Connection, past: Past, month: date, runs: int) -> None:
    values = {
        "month": month,
        "runs": runs,
        "tasks": past.tasks,
        "dags": list(past.dags),
        "spacing": SPACING_SECONDS,
        "first_run": _next_id(target, "dag_run"),
        "first_instance": _next_id(target, "task_instance"),
    }
    target.exec_driver_sql(_RUNS, values)
    _copy(source, target, "task_instance", _INSTANCE_COLUMNS, _INSTANCES, values)
    _copy(source, target, "task_attempt", _ATTEMPT_COLUMNS, _ATTEMPTS, values)
    partitions.ensure(target, month)
    for table in ("dag_run", "task_instance"):
        tuples(target, f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {_next_id(target, table) - 1})")


def _next_id(connection: Connection, table: str) -> int:
    return int(tuples(connection, f"SELECT coalesce(max(id), 0) + 1 FROM {table}")[0][0])


def _copy(
    source: Connection, target: Connection, table: str, columns: str, select: str, values: Mapping[str, Any]
) -> None:
    """Copy the rows that ``source`` makes into a month's partition, made here if it is missing."""
    month = values["month"]
    name = partitions.name_of(table, month)
    is_new = not tuples(target, f"SELECT to_regclass('{name}') IS NOT NULL")[0][0]
    if is_new:
        partitions.make_apart(target, table, month)
    options = "FORMAT binary, FREEZE" if is_new else "FORMAT binary"
    # Bound on the client: COPY takes no parameters.
    reader, writer = psycopg.ClientCursor(_driver(source)), _driver(target).cursor()
    text = reader.mogrify(select, values)
    with (
        reader.copy(f"COPY ({text}) TO STDOUT (FORMAT binary)") as made,
        writer.copy(f"COPY {name} ({columns}) FROM STDIN ({options})") as into,
    ):
        for row in made:
            into.write(row)
    if is_new:
        partitions.attach(target, table, month)


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver
