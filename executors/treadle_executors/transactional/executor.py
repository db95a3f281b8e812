"""The scheduler's side of the transactional executor: puts attempts into the database's queue and keeps their leases.

Workers (``treadle worker``) take them from there. Every scheduler renews whatever waits, whoever queued it, so that
nothing is adopted when one dies; what a worker took is kept alive by the worker's own heartbeats.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_executors.executor import Executor, ExecutorEvent, Trouble, rejection
from treadle_executors.queued_leases import DatabaseLeases, QueuedLeases
from treadle_metadata import processes, work
from treadle_metadata.clock import Clock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload
from treadle_worker.workloads import problem_of

log = logging.getLogger(__name__)

KIND: Final = "worker"
"""How workers are named among the processes."""

_STOPPED: Final = "the scheduler was stopped before a worker took the attempt"


class TransactionalExecutor(Executor):
    """Queues attempts in the database."""

    name = "transactional"

    def __init__(
        self,
        database: Database,
        settings: Settings,
        clock: Clock | None = None,
        leases: QueuedLeases | None = None,
    ) -> None:
        super().__init__(database, settings)
        self.slots = settings.parallelism
        self._clock = clock or SystemClock()
        self._leases: QueuedLeases = leases or DatabaseLeases(database, settings, self._clock)
        self._lock = threading.Lock()
        self._queued: set[UUID] = set()
        """What this scheduler has put in and nobody is known to have taken."""
        self._fresh: set[UUID] = set()
        """Those put in since the last renewal."""
        self._events: list[ExecutorEvent] = []
        self._troubles: list[Trouble] = []
        self._stopping = threading.Event()
        self._on_event: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._renew_until_stopped, name="transactional-executor", daemon=True)

    def start(self, on_event: Callable[[], None]) -> None:
        """Start the thread that renews leases."""
        self._on_event = on_event
        self._thread.start()

    def queue(self, workloads: Iterable[Workload]) -> None:
        """Put attempts into the queue, in one statement."""
        good: list[Workload] = []
        for workload in workloads:
            problem = problem_of(workload)
            if problem is None:
                good.append(workload)
            else:
                self._reject(workload.get("attempt_id"), problem)
        if good:
            with self._lock:
                fresh = {UUID(one["attempt_id"]) for one in good}
                self._queued |= fresh
                self._fresh |= fresh
            self.database.run_each(lambda connection: work.put(connection, good))
        if len(self._events) > 0:
            self._on_event()

    def _reject(self, attempt_id: object, problem: str) -> None:
        event = rejection(attempt_id, problem)
        if event is not None:
            with self._lock:
                self._events.append(event)

    def events(self) -> list[ExecutorEvent]:
        """Return what happened since the last call."""
        with self._lock:
            events, self._events = self._events, []
        return events

    def troubles(self) -> list[Trouble]:
        """Return that attempts wait and no worker runs."""
        with self._lock:
            return list(self._troubles)

    def terminate(self, attempt_id: UUID, reason: str) -> None:
        """Take an attempt out of the queue, or have its worker end it."""

        def act(connection: Connection) -> None:
            if not work.take_out(connection, [attempt_id]):
                work.order_end(connection, attempt_id, reason)

        self.database.run(act)

    def adopt(self, attempt_ids: Iterable[UUID]) -> set[UUID]:
        """Return those that wait in the queue: this scheduler renews them, too."""
        asked = list(attempt_ids)
        return self.database.run(lambda connection: work.waits(connection, asked))

    def end(self) -> None:
        """Stop; what this scheduler has queued and no worker has taken is handed back."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        with self._lock:
            queued, self._queued = list(self._queued), set()
        try:
            taken_out = self.database.run(lambda connection: work.take_out(connection, queued))
        except Exception as error:
            log.warning("what waits in the queue stays there, for other schedulers to keep: %s", error)
            return
        with self._lock:
            self._events += [ExecutorEvent("handed_back", one, _STOPPED) for one in taken_out]

    def _renew_until_stopped(self) -> None:
        while not self._stopping.wait(self.settings.lease_renewal_seconds):
            try:
                self._renew()
            except Exception as error:
                # Not only a database that is away: this thread must not end.
                log.warning("the leases of waiting attempts could not be renewed: %s", error)

    def _renew(self) -> None:
        """Renew all that waits; what is over meanwhile (cleared, marked, rescued) is taken out."""
        waiting = self.database.run(work.waiting)
        kept = self._leases.keep(
            [one.ref for one in waiting if not one.is_callback], [one.ref for one in waiting if one.is_callback]
        )
        gone = [one.ref.attempt_id for one in waiting if one.ref.attempt_id not in kept]
        self.database.run(lambda connection: work.take_out(connection, gone))
        troubles = self.database.run(lambda connection: self._lacking(connection, len(kept)))
        with self._lock:
            self._queued &= {one.ref.attempt_id for one in waiting} | self._fresh
            self._fresh.clear()
            self._troubles = troubles

    def _lacking(self, connection: Connection, count: int) -> list[Trouble]:
        now = self._clock.now()
        if not count or any(one.kind == KIND for one in processes.alive(connection, now)):
            return []
        return [Trouble(f"{count} attempts wait and no `treadle worker` runs")]
