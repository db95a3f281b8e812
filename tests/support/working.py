"""A scheduler whose loop runs in a thread, with real task processes, and an Execution API of the test's choice."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bench.documents import install

from treadle.document import DagDocument
from treadle_executors.execution_api import DatabaseExecution, ExecutionApi
from treadle_executors.local import LocalExecutor
from treadle_metadata import runs
from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_scheduler.context import Context
from treadle_scheduler.loop import Loop
from treadle_scheduler.waking import Scope


class Working:
    """The scheduler, and the few things that tests do with it."""

    def __init__(self, database: Database, settings: Settings, wrapped: Callable[[ExecutionApi], ExecutionApi]) -> None:
        self.database = database
        self.settings = replace(settings, database_url=database.url)
        self.execution = wrapped(DatabaseExecution(database, self.settings))
        self.executor = LocalExecutor(database, self.settings, self.execution)
        self.loop = Loop(Context(database, SystemClock(), self.settings, {"local": self.executor}))
        self.thread = threading.Thread(target=self.loop.run, name="loop")

    def install(self, document: DagDocument, source: str) -> None:
        """Write a DAG file and store its document, which must be of the same tasks."""
        path = self.settings.path("dags_folder") / f"{document.dag_id}.py"
        path.write_text(source)
        digest = hashlib.sha256(source.encode()).hexdigest()
        with self.database.begin() as connection:
            install(connection, document, now=datetime.now(UTC), file=path.name)
            connection.exec_driver_sql("UPDATE dag_version SET file_hash = %(hash)s", {"hash": digest})

    def trigger(self, dag_id: str) -> None:
        """Make a run."""
        with self.database.begin() as connection:
            runs.trigger_run(connection, dag_id, now=datetime.now(UTC))
        self.loop.wake(Scope.RUNS)

    def select(self, sql: Any, **parameters: Any) -> list[Mapping[str, Any]]:
        """Read from the database."""
        with self.database.begin() as connection:
            return [dict(row) for row in rows(connection, sql, parameters)]

    def is_over(self) -> bool:
        """Tell whether all runs have ended."""
        return not self.select("SELECT FROM dag_run WHERE state IN ('queued', 'running')")


@contextmanager
def working(
    database: Database, settings: Settings, wrapped: Callable[[ExecutionApi], ExecutionApi] = lambda real: real
) -> Iterator[Working]:
    """Run a scheduler while the block runs; ``wrapped`` stands between its executor and the real Execution API."""
    one = Working(database, settings, wrapped)
    one.executor.start(one.loop.wake)
    one.thread.start()
    try:
        yield one
    finally:
        one.loop.stop()
        one.thread.join()
        one.executor.end()
