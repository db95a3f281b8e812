"""What ``bench web`` asks about: 10,000 DAGs with a long past, one wide run, one grid, and what happened lately.

The past is made by ``bench.loading``; the rest are some thousand rows. A folder that is kept is loaded once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from bench import loading
from bench.documents import install
from bench.report import progress
from treadle.document import DagDocument, TaskDocument
from treadle_metadata.connection import Database
from treadle_metadata.identifiers import month_of
from treadle_metadata.statements import execute, tuples

WIDE, GRID = "wide", "grid"
WIDE_TASKS, GRID_TASKS, GRID_RUNS = 500, 100, 400
TASKS = 16
MONTHS = 24

_RUNS = """
    INSERT INTO dag_run (dag_id, run_id, version_id, month, run_type, state, run_after, logical_date, queued_at,
                         started_at, ended_at, triggered_by)
    SELECT dag.dag_id, 'run_' || n, dag.version_id, %(month)s, 'scheduled',
           CASE WHEN n %% 20 = 0 THEN 'failed' ELSE 'success' END, at, at, at, at, at + interval '1 minute', 'timetable'
    FROM generate_series(1, %(runs)s::int) AS n
    CROSS JOIN LATERAL (SELECT %(now)s::timestamptz - n * make_interval(secs => %(spacing)s) AS at) AS moment
    JOIN dag ON dag.dag_id = CASE WHEN %(dag)s = '' THEN 'dag_' || lpad((n %% %(dags)s)::text, 5, '0') ELSE %(dag)s END
    ON CONFLICT DO NOTHING
"""

_INSTANCES = """
    INSERT INTO task_instance (month, dag_run_id, dag_id, task_id, state, try_number, operator, pool, pool_slots, queue,
                               priority_weight, queued_at, started_at, ended_at)
    SELECT run.month, run.id, run.dag_id, 'task_' || n, CASE WHEN n %% 50 = 7 THEN 'failed' ELSE 'success' END, 1,
           'PythonOperator', 'default_pool', 1, 'default', 1, run.started_at, run.started_at, run.ended_at
    FROM dag_run AS run, generate_series(0, %(tasks)s::int - 1) AS n
    WHERE run.dag_id = %(dag)s
"""


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is; at scale 1: 10,000 DAGs, 1,000,000 runs of 16 tasks."""

    scale: float

    @property
    def dags(self) -> int:
        """The number of DAGs with a past."""
        return max(50, int(10_000 * self.scale))

    @property
    def runs(self) -> int:
        """The number of runs."""
        return max(MONTHS * 50, int(1_000_000 * self.scale))


def load(database: Database, size: Size, now: datetime) -> None:
    """Load everything, unless it is there."""
    with database.begin() as connection:
        if tuples(connection, "SELECT FROM dag WHERE dag_id = %(dag)s", {"dag": GRID}):
            progress("the data are there already")
            return
    names = tuple(f"dag_{number:05}" for number in range(size.dags))
    loading.load(database, loading.Past(size.runs, TASKS, MONTHS, names), now)
    with database.begin() as connection:
        execute(connection, "UPDATE dag_run SET state = 'failed' WHERE id %% 20 = 0 AND state = 'success'")
        execute(
            connection,
            "UPDATE dag SET schedule_summary = '0 * * * *', next_run_at = %(at)s, tags = '{bench}', owners = '{ann}'",
            {"at": now + timedelta(hours=3)},
        )
        _lately(connection, size, now)
        _dag(connection, WIDE, WIDE_TASKS, 1, now)
        _dag(connection, GRID, GRID_TASKS, GRID_RUNS, now)
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM (ANALYZE)")
        connection.exec_driver_sql("CHECKPOINT")


def _lately(connection: Connection, size: Size, now: datetime) -> None:
    """Add runs that ended in the last hours, and some that are under way."""
    facts = {"month": month_of(now), "now": now, "dag": "", "dags": size.dags}
    execute(connection, _RUNS, facts | {"runs": 5000, "spacing": 6.0})
    execute(
        connection,
        """
        UPDATE dag_run SET state = CASE WHEN id %% 5 = 0 THEN 'queued' ELSE 'running' END, ended_at = NULL
        WHERE id IN (SELECT id FROM dag_run WHERE ended_at > %(since)s LIMIT 200)
        """,
        {"since": now - timedelta(minutes=30)},
    )


def _dag(connection: Connection, dag_id: str, tasks: int, runs: int, now: datetime) -> None:
    documents = tuple(
        TaskDocument(f"task_{number}", upstream=(f"task_{number - 10}",) if number >= 10 else ())
        for number in range(tasks)
    )
    install(connection, DagDocument(dag_id, tasks=documents), now=now)
    facts = {"month": month_of(now), "now": now, "dag": dag_id, "dags": 1, "tasks": tasks}
    execute(connection, _RUNS, facts | {"runs": runs, "spacing": 3600.0})
    execute(connection, _INSTANCES, facts)
