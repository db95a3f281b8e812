"""The Celery executor: publishes attempts to a broker, and keeps those alive that wait there.

An attempt in the broker has no worker that could renew its lease, so this does, until a worker starts it. The broker is
spoken to by one thread, so that one that is away never holds up the scheduler; what could not be published is tried
again. If the scheduler dies, its waiting attempts are taken back by their leases, free of charge, and their messages
find themselves refused.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final
from uuid import UUID

from kombu.exceptions import ChannelError
from sqlalchemy.exc import SQLAlchemyError

from treadle_executors.celery.app import END, TASK, make_app
from treadle_executors.executor import Executor, ExecutorEvent
from treadle_metadata.attempt_tokens import AttemptClaim, AttemptTokens, Scope
from treadle_metadata.clock import Clock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.settings import Settings
from treadle_metadata.transitions import attempts
from treadle_worker.protocol import Workload
from treadle_worker.workloads import problem_of

log = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0


@dataclass(slots=True)
class Waiting:
    """An attempt that no worker has started, as far as this executor knows."""

    workload: Workload
    look_at: float = 0.0
    """When to publish it, or to see whether its message is still there; on the monotonic clock."""
    published: bool = False


class CeleryExecutor(Executor):
    """Publishes attempts to the queue that their task names."""

    name = "celery"

    def __init__(self, database: Database, settings: Settings, clock: Clock | None = None) -> None:
        super().__init__(database, settings)
        self.slots = settings.parallelism
        self._clock = clock or SystemClock()
        self._app = make_app(settings)
        self._tokens = AttemptTokens(settings.jwt_secret)
        self._lock = threading.Lock()
        self._waiting: dict[UUID, Waiting] = {}
        self._to_end: list[tuple[UUID, str]] = []
        self._events: list[ExecutorEvent] = []
        self._work = threading.Event()
        self._stopping = threading.Event()
        self._on_event: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._serve, name="celery-executor", daemon=True)

    def start(self, on_event: Callable[[], None]) -> None:
        """Start the thread that speaks to the broker."""
        self._on_event = on_event
        self._thread.start()

    def queue(self, workloads: Iterable[Workload]) -> None:
        """Take attempts over; they are published by the thread, in their order."""
        rejected = False
        with self._lock:
            for workload in workloads:
                problem = problem_of(workload)
                attempt_id = UUID(workload["attempt_id"])
                if problem is not None:
                    self._events.append(ExecutorEvent("rejected", attempt_id, problem))
                    rejected = True
                elif attempt_id not in self._waiting:
                    self._waiting[attempt_id] = Waiting(workload)
        self._work.set()
        if rejected:
            self._on_event()

    def events(self) -> list[ExecutorEvent]:
        """Return what happened since the last call."""
        with self._lock:
            events, self._events = self._events, []
        return events

    def terminate(self, attempt_id: UUID, reason: str) -> None:
        """Have whichever worker runs the attempt end it at once; its next heartbeat would end it in any case."""
        with self._lock:
            self._waiting.pop(attempt_id, None)
            self._to_end.append((attempt_id, reason))
        self._work.set()

    def adopt(self, attempt_ids: Iterable[UUID]) -> set[UUID]:
        """Return those that wait here for a worker."""
        with self._lock:
            return {one for one in attempt_ids if one in self._waiting}

    def end(self) -> None:
        """Stop; attempts that wait for a worker are handed back, those that run are their workers' own."""
        self._stopping.set()
        self._work.set()
        if self._thread.ident is not None:
            self._thread.join()
        with self._lock:
            reason = "the scheduler was stopped before a worker took the attempt"
            self._events += [ExecutorEvent("handed_back", one, reason) for one in self._waiting]
            self._waiting.clear()
        self._app.close()

    def _serve(self) -> None:
        pause, renew_at = _FIRST_PAUSE, 0.0
        while not self._stopping.is_set():
            try:
                self._speak()
                pause = _FIRST_PAUSE
            except Exception as error:
                # Whatever a broker's client raises: without this thread no attempt would ever be published.
                log.warning("the broker cannot be used, trying again: %s: %s", type(error).__name__, error)
                self._work.set()
                self._stopping.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            if time.monotonic() >= renew_at:
                renew_at = time.monotonic() + self.settings.lease_renewal_seconds
                self._renew()
            self._work.wait(max(0.0, renew_at - time.monotonic()))

    def _speak(self) -> None:
        """Publish what is new or lost, and pass on what is to end."""
        self._work.clear()
        now = time.monotonic()
        with self._lock:
            due = [one for one in self._waiting.values() if one.look_at <= now]
            to_end = list(self._to_end)
        if due:
            with self._app.producer_pool.acquire(block=True) as producer:
                for one in self._missing(due, producer):
                    self._publish(one, producer)
        for attempt_id, reason in to_end:
            self._app.control.broadcast(END, arguments={"attempt_id": str(attempt_id), "reason": reason})
            with self._lock:
                self._to_end.remove((attempt_id, reason))

    def _missing(self, due: Iterable[Waiting], producer: Any) -> list[Waiting]:
        """Return those that have no message: never published, or long ago while their queue has nothing left.

        A worker starts what it takes from a queue at once, so a message that is in no queue and was not started in a
        lease's time went down with its worker, or with the broker.
        """
        lengths: dict[str, int] = {}
        missing = []
        for one in due:
            queue = one.workload["queue"]
            if one.published and queue not in lengths:
                lengths[queue] = _length(producer.connection, queue)
            if not one.published or lengths[queue] == 0:
                missing.append(one)
            else:
                one.look_at = time.monotonic() + self.settings.lease_seconds
        return missing

    def _publish(self, one: Waiting, producer: Any) -> None:
        workload = one.workload
        claim = AttemptClaim(_ref(workload), Scope.QUEUED)
        message = [workload, self._tokens.issue(claim, now=self._clock.now())]
        self._app.send_task(
            TASK,
            message,
            task_id=workload["attempt_id"],
            queue=workload["queue"],
            producer=producer,
            retry=False,
            argsrepr="(the attempt and its token)",
        )
        one.published = True
        one.look_at = time.monotonic() + self.settings.lease_seconds

    def _renew(self) -> None:
        """Renew the leases of attempts that wait; forget those that a worker has started, or that are over."""
        with self._lock:
            refs = [_ref(one.workload) for one in self._waiting.values()]
        if not refs:
            return
        until = self._clock.now() + timedelta(seconds=self.settings.lease_seconds)
        try:
            kept = self.database.run(lambda connection: attempts.keep_queued(connection, refs, lease_until=until))
        except SQLAlchemyError as error:
            log.warning("the leases of %d waiting attempts could not be renewed: %s", len(refs), error)
            return
        with self._lock:
            for ref in refs:
                if ref.attempt_id not in kept:
                    self._waiting.pop(ref.attempt_id, None)


def _ref(workload: Workload) -> AttemptRef:
    return AttemptRef(UUID(workload["attempt_id"]), workload["task_instance_id"], date.fromisoformat(workload["month"]))


def _length(connection: Any, queue: str) -> int:
    """Return how many messages wait in a queue; one that the broker does not know has none."""
    try:
        # A channel of its own: a broker closes the one on which it was asked for an unknown queue.
        with connection.channel() as channel:
            return int(channel.queue_declare(queue=queue, passive=True).message_count)
    except ChannelError:
        return 0
