"""An executor without workers: every attempt starts and ends, as told, in the call that queues it.

Used to measure the scheduler alone, and by tests of the duties.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection

from treadle_metadata import execution
from treadle_metadata.clock import Clock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_scheduler.simulation.workerless import WorkerlessExecutor, start_report
from treadle_worker.protocol import Workload

Outcome = Callable[[Workload], dict[str, Any]]


def success(_workload: Workload) -> dict[str, Any]:
    """Say that the attempt succeeded."""
    return {"outcome": "success"}


class InstantExecutor(WorkerlessExecutor):
    """Reports starts and finishes through the Execution API's functions, one transaction for each batch."""

    name = "instant"

    def __init__(
        self, database: Database, settings: Settings, outcome: Outcome = success, clock: Clock | None = None
    ) -> None:
        super().__init__(database, settings)
        self.slots = settings.parallelism
        self.outcome = outcome
        self.clock = clock or SystemClock()
        self.taken: list[Workload] = []
        self._on_event: Callable[[], None] = lambda: None

    def start(self, on_event: Callable[[], None]) -> None:
        """Keep whom to tell."""
        self._on_event = on_event

    def queue(self, workloads: Iterable[Workload]) -> None:
        """Run the whole batch at once."""
        batch = list(workloads)
        self.taken += batch
        self.database.run(lambda connection: self._run(connection, batch))
        self._on_event()

    def _run(self, connection: Connection, batch: list[Workload]) -> None:
        now = self.clock.now()
        starts = [start_report(one, socket.gethostname(), now) for one in batch]
        lease = now + timedelta(seconds=self.settings.lease_seconds)
        answers = execution.record_starts(connection, starts, now=now, lease_until=lease)
        accepted = {answer["attempt_id"] for answer in answers if answer["accepted"]}
        finishes = [
            start | {"ended_at": now.isoformat(), "xcoms": []} | self.outcome(one)
            for start, one in zip(starts, batch, strict=True)
            if one["attempt_id"] in accepted
        ]
        execution.record_finishes(connection, finishes, now=now)

    def end(self) -> None:
        """Nothing to release."""
