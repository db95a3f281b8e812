"""A scheduler that is alive by its lease, and the three questions as a test asks them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler

from treadle_metadata import processes
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.deciding.reasons import Explanation
from treadle_metadata.queries import why
from treadle_metadata.settings import Settings

LEASE = timedelta(days=30)


@dataclass(slots=True)
class Asking:
    """Asks why something does not run, at the scheduler's present moment and with its settings."""

    scheduler: TestScheduler

    def dag(self, dag_id: str) -> Explanation:
        """Ask about a DAG."""
        with self.scheduler.database.begin() as connection:
            return why.why_is_dag_not_running(connection, dag_id, **self._surroundings())

    def run(self, dag_id: str, run_id: str) -> Explanation:
        """Ask about a run."""
        with self.scheduler.database.begin() as connection:
            return why.why_is_run_not_running(connection, dag_id, run_id, **self._surroundings())

    def task(self, dag_id: str, run_id: str, task_id: str, map_index: int = -1) -> Explanation:
        """Ask about a task instance."""
        with self.scheduler.database.begin() as connection:
            return why.why_is_task_not_running(connection, dag_id, run_id, task_id, map_index, **self._surroundings())

    def _surroundings(self) -> dict[str, Any]:
        return {"now": self.scheduler.clock.now(), "settings": self.scheduler.context.settings}


@pytest.fixture
def stopped(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    """A scheduler that was never registered as a process."""
    return TestScheduler(database, settings, clock)


@pytest.fixture
def scheduler(stopped: TestScheduler) -> TestScheduler:
    """A scheduler whose lease holds for a month."""
    with stopped.database.begin() as connection:
        processes.register(connection, "scheduler", stopped.clock.now(), LEASE.total_seconds())
    return stopped


@pytest.fixture
def ask(stopped: TestScheduler) -> Asking:
    """The questions."""
    return Asking(stopped)
