"""An executor whose attempts last: it holds what it is given and ends a set number of attempts each second.

For benchmarks of a scheduler under steady load. Reports go through a database of its own, in a thread of its own, as a
runner host's do, so that the scheduler's statements and times are the scheduler's alone.
"""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from treadle_metadata import execution
from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_scheduler.simulation.workerless import WorkerlessExecutor, start_report
from treadle_worker.protocol import Workload

TICK_SECONDS = 0.01


class PacedExecutor(WorkerlessExecutor):
    """Starts every attempt at once; ends ``ends_per_second`` of those that it holds, chosen at random."""

    name = "paced"

    def __init__(self, database: Database, settings: Settings, ends_per_second: float) -> None:
        super().__init__(database, settings)
        self.slots = settings.parallelism
        self.ends_per_second = ends_per_second
        self.ended = 0
        self._held: list[dict[str, Any]] = []
        self._new: list[Workload] = []
        self._lock = threading.Lock()
        self._on_event: Callable[[], None] = lambda: None
        self._stopping = threading.Event()
        self._pacing = threading.Event()
        self._chance = random.Random(1)
        self._thread = threading.Thread(target=self._serve, name="paced-executor", daemon=True)

    @property
    def held(self) -> int:
        """How many attempts are under way."""
        return len(self._held) + len(self._new)

    def start(self, on_event: Callable[[], None]) -> None:
        """Begin to start attempts; none ends before :meth:`pace`."""
        self._on_event = on_event
        self._thread.start()

    def pace(self) -> None:
        """Begin to end attempts."""
        self._pacing.set()

    def queue(self, workloads: Iterable[Workload]) -> None:
        """Take attempts over."""
        with self._lock:
            self._new += workloads

    def end(self) -> None:
        """Stop the thread."""
        self._stopping.set()
        self._thread.join()

    def _serve(self) -> None:
        due, last = 0.0, time.monotonic()
        while not self._stopping.wait(TICK_SECONDS):
            now = time.monotonic()
            if self._pacing.is_set():
                due += (now - last) * self.ends_per_second
            last = now
            self._start_new()
            number = min(int(due), len(self._held))
            if number:
                due -= number
                self._end(number)

    def _start_new(self) -> None:
        with self._lock:
            batch, self._new = self._new, []
            now = SystemClock().now()
            reports = [start_report(one, socket.gethostname(), now) for one in batch]
            self._held += reports
        if batch:
            lease = now + timedelta(hours=1)
            self.database.run(
                lambda connection: execution.record_starts(connection, reports, now=now, lease_until=lease)
            )

    def _end(self, number: int) -> None:
        with self._lock:
            finished = [self._held.pop(self._chance.randrange(len(self._held))) for _ in range(number)]
        now = SystemClock().now()
        reports = [one | {"ended_at": now.isoformat(), "outcome": "success", "xcoms": []} for one in finished]
        self.database.run(lambda connection: execution.record_finishes(connection, reports, now=now))
        self.ended += number
        self._on_event()
