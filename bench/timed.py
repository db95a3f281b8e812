"""An executor whose attempts last a set time: each starts when it is handed over, and reports when its time is over.

For benchmarks of how well a scheduler fills slots. Reports go in batches from a thread of its own, as a runner host's
do: what gathered while one was under way goes into the next.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from treadle_metadata import execution
from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_scheduler.simulation.workerless import WorkerlessExecutor, start_report
from treadle_worker.protocol import Workload


class TimedExecutor(WorkerlessExecutor):
    """Ends every attempt ``seconds`` after it was handed over, with success."""

    name = "timed"

    def __init__(self, database: Database, settings: Settings, seconds: float) -> None:
        super().__init__(database, settings)
        self.slots = settings.parallelism
        self._seconds = seconds
        self._new: list[Workload] = []
        self._held: deque[tuple[float, dict[str, Any]]] = deque()
        self._changed = threading.Condition()
        self._on_event: Callable[[], None] = lambda: None
        self._stopping = False
        self._thread = threading.Thread(target=self._serve, name="timed-executor", daemon=True)

    def start(self, on_event: Callable[[], None]) -> None:
        """Begin to take attempts."""
        self._on_event = on_event
        self._thread.start()

    def queue(self, workloads: Iterable[Workload]) -> None:
        """Take attempts over."""
        with self._changed:
            self._new += workloads
            self._changed.notify()

    def end(self) -> None:
        """Stop the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            with self._changed:
                due = self._held[0][0] - time.monotonic() if self._held else None
                if not self._new and not self._stopping:
                    self._changed.wait(None if due is None else max(0.0, due))
                if self._stopping:
                    return
                batch, self._new = self._new, []
            self._begin(batch)
            self._finish()

    def _begin(self, batch: list[Workload]) -> None:
        if not batch:
            return
        now = SystemClock().now()
        reports = [start_report(one, socket.gethostname(), now) for one in batch]
        lease = now + timedelta(hours=1)
        self.database.run(lambda connection: execution.record_starts(connection, reports, now=now, lease_until=lease))
        due = time.monotonic() + self._seconds
        self._held += [(due, one) for one in reports]

    def _finish(self) -> None:
        now = SystemClock().now()
        ended = []
        while self._held and self._held[0][0] <= time.monotonic():
            report = self._held.popleft()[1]
            ended.append(report | {"ended_at": now.isoformat(), "outcome": "success", "xcoms": []})
        if ended:
            self.database.run(lambda connection: execution.record_finishes(connection, ended, now=now))
            self._on_event()
