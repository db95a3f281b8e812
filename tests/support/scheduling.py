"""A scheduler in the test's own process: documents put straight into the database, beats run by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bench.documents import install
from bench.instant import InstantExecutor, Outcome, success
from sqlalchemy import select, update

from treadle.document import DagDocument, TaskDocument
from treadle_metadata import runs
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_metadata.tables import dag, dag_version
from treadle_scheduler.context import Context
from treadle_scheduler.loop import Loop
from treadle_scheduler.waking import Scope

__all__ = ["TestScheduler", "a_dag", "install"]


def a_dag(dag_id: str, *tasks: TaskDocument, **changes: Any) -> DagDocument:
    """Return a DAG document with these tasks (in topological order)."""
    return DagDocument(dag_id=dag_id, tasks=tasks, **changes)


class TestScheduler:
    """One scheduler with an executor that ends every attempt at once, as ``outcome`` says."""

    __test__ = False

    def __init__(self, database: Database, settings: Settings, clock: ManualClock, outcome: Outcome = success) -> None:
        self.database = database
        self.clock = clock
        self.executor = InstantExecutor(database, replace(settings, executor="instant"), outcome, clock)
        self.context = Context(database, clock, self.executor.settings, {"instant": self.executor})
        self.loop = Loop(self.context)
        self.executor.start(self.loop.wake)

    def install(self, document: DagDocument, **columns: Any) -> None:
        """Store a DAG."""
        with self.database.begin() as connection:
            install(connection, document, now=self.clock.now(), **columns)

    def trigger(self, dag_id: str, **arguments: Any) -> str:
        """Make a manual run and return its run id."""
        with self.database.begin() as connection:
            return str(runs.trigger_run(connection, dag_id, now=self.clock.now(), **arguments)["run_id"])

    def beats(self, most: int = 50) -> None:
        """Run beats until one finds nothing to do at this moment."""
        for _ in range(most):
            before = self._marks()
            self.loop.wake(Scope.EVERYTHING)
            self.loop.beat()
            if self._marks() == before:
                return
        raise AssertionError(f"the scheduler was not at rest after {most} beats")

    def _marks(self) -> tuple[Any, ...]:
        """Return what changes with any state; summed up by the database, since there may be many rows."""
        with self.database.begin() as connection:
            return tuple(
                tuple(row.values())
                for row in rows(
                    connection,
                    """
                    SELECT 'r', sum(hashtextextended(concat_ws(' ', id, state, clear_number), 0)) FROM dag_run
                    UNION ALL
                    SELECT 't', sum(hashtextextended(concat_ws(' ', id, state, try_number), 0)) FROM task_instance
                    UNION ALL
                    SELECT 'c', sum(hashtextextended(concat_ws(' ', id, state), 0)) FROM callback
                    """,
                )
            )

    def run_states(self, dag_id: str) -> dict[str, str]:
        """Return each run's state by run id."""
        found = self._select("SELECT run_id, state FROM dag_run WHERE dag_id = %(dag_id)s ORDER BY id", dag_id=dag_id)
        return {row["run_id"]: row["state"] for row in found}

    def task_states(self, run_id: str) -> dict[str, str]:
        """Return the states of a run's instances by task id, with the index where there is one."""
        found = self._select(
            """
            SELECT task_id || CASE WHEN map_index < 0 THEN '' ELSE format('[%%s]', map_index) END AS name, state
            FROM task_instance WHERE dag_run_id = (SELECT id FROM dag_run WHERE run_id = %(run_id)s)
            ORDER BY id
            """,
            run_id=run_id,
        )
        return {row["name"]: row["state"] for row in found}

    def _select(self, sql: Any, **parameters: Any) -> list[Mapping[str, Any]]:
        with self.database.begin() as connection:
            return list(rows(connection, sql, parameters))

    def set_dag(self, dag_id: str, **columns: Any) -> None:
        """Change a DAG's row."""
        with self.database.begin() as connection:
            connection.execute(update(dag).where(dag.c.dag_id == dag_id).values(columns))

    def next_run_at(self, dag_id: str) -> Any:
        """Return when the DAG's next run is planned for."""
        (row,) = self._select("SELECT next_run_at FROM dag WHERE dag_id = %(dag_id)s", dag_id=dag_id)
        return row["next_run_at"]

    def all_dags(self) -> list[str]:
        """Return the ids of all DAGs."""
        return [row["dag_id"] for row in self._select("SELECT dag_id FROM dag ORDER BY dag_id")]

    def versions(self) -> list[int]:
        """Return all version ids."""
        with self.database.begin() as connection:
            return list(connection.execute(select(dag_version.c.id)).scalars())
