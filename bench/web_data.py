"""What ``bench web`` asks about: 10,000 DAGs with a long past, one wide run, one grid, and what happened lately.

The past is made by ``bench.loading``; the rest are some thousand rows. A folder that is kept is loaded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from bench import loading, web_rows
from bench.documents import install
from bench.report import progress
from treadle.document import DagDocument, TaskDocument
from treadle_metadata.connection import Database
from treadle_metadata.statements import execute, tuples

WIDE, GRID = "wide", "grid"
WIDE_TASKS, GRID_TASKS, GRID_RUNS = 500, 100, 400
TASKS = 16
MONTHS = 24


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
        _lately(connection, names, now)
        _dag(connection, WIDE, WIDE_TASKS, 1, now)
        _dag(connection, GRID, GRID_TASKS, GRID_RUNS, now)
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM (ANALYZE)")
        connection.exec_driver_sql("CHECKPOINT")


def _lately(connection: Connection, names: Sequence[str], now: datetime) -> None:
    """Add runs that ended in the last hours, and some that are under way."""
    web_rows.add_runs(connection, names, 5000, timedelta(seconds=6), now)
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
    web_rows.add_runs(connection, (dag_id,), runs, timedelta(hours=1), now)
    web_rows.add_instances(connection, dag_id, tasks)
