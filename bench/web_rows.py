"""Runs and task instances for what ``bench web`` asks about, made by the database itself: one source for both parts.

Called by ``web_data`` (the API's data) and ``web_pages_data`` (what only the pages need).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata import partitions
from treadle_metadata.identifiers import month_of
from treadle_metadata.statements import execute

_RUNS: Final[LiteralString] = """
    INSERT INTO dag_run (dag_id, run_id, version_id, month, run_type, state, run_after, logical_date, queued_at,
                         started_at, ended_at, triggered_by)
    SELECT dag.dag_id, 'run_' || n, dag.version_id, date_trunc('month', at AT TIME ZONE 'UTC')::date, 'scheduled',
           CASE WHEN n %% 20 = 0 THEN 'failed' ELSE 'success' END, at, at, at, at,
           at + make_interval(secs => 20 + n %% 17), 'timetable'
    FROM generate_series(1, %(runs)s::int) AS n
    CROSS JOIN LATERAL (SELECT %(now)s::timestamptz - n * %(spacing)s::interval AS at) AS moment
    JOIN dag ON dag.dag_id = (%(dags)s::text[])[1 + n %% cardinality(%(dags)s::text[])]
    ORDER BY n DESC
    ON CONFLICT DO NOTHING
"""

_INSTANCES: Final[LiteralString] = """
    INSERT INTO task_instance (month, dag_run_id, dag_id, task_id, state, try_number, operator, pool, pool_slots, queue,
                               priority_weight, queued_at, started_at, ended_at)
    SELECT run.month, run.id, run.dag_id, 'task_' || n,
           CASE WHEN (run.id + n) %% 53 = 7 THEN 'failed' WHEN (run.id + n) %% 31 = 3 THEN 'skipped' ELSE 'success' END,
           CASE WHEN (run.id + n) %% 41 = 5 THEN 2 ELSE 1 END,
           'PythonOperator', 'default_pool', 1, 'default', 1, run.started_at, run.started_at, run.ended_at
    FROM dag_run AS run, generate_series(0, %(tasks)s::int - 1) AS n
    WHERE run.dag_id = %(dag)s
"""


def add_runs(connection: Connection, dag_ids: Sequence[str], runs: int, spacing: timedelta, now: datetime) -> None:
    """Add runs of these DAGs in turn, which began ``spacing`` apart until ``now``, and the partitions for them."""
    moment, oldest = month_of(now), month_of(now - runs * spacing)
    while moment >= oldest:
        partitions.ensure(connection, moment)
        moment = month_of(now.replace(year=moment.year, month=moment.month, day=1) - timedelta(days=1))
    execute(connection, _RUNS, {"dags": list(dag_ids), "runs": runs, "spacing": spacing, "now": now})


def add_instances(connection: Connection, dag_id: str, tasks: int) -> None:
    """Add to each run of a DAG an instance of each of its tasks, ``task_0`` and on; most went well, at once."""
    execute(connection, _INSTANCES, {"dag": dag_id, "tasks": tasks})
