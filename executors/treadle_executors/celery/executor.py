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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final
from uuid import UUID

from treadle_executors.celery.broker import Broker
from treadle_executors.errors import BrokerError
from treadle_executors.executor import Executor, ExecutorEvent, Trouble, rejection
from treadle_executors.queued_leases import DatabaseLeases
from treadle_metadata.attempt_tokens import AttemptClaim, AttemptTokens, Scope
from treadle_metadata.clock import Clock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload
from treadle_worker.workloads import problem_of

log = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0


@dataclass(slots=True)
class Waiting:
    """An attempt or callback that no worker has started, as far as this executor knows."""

    workload: Workload
    ref: AttemptRef
    look_at: float = 0.0
    """When to publish it, or to see whether its message is still there; on the monotonic clock."""
    published: bool = False


@dataclass(frozen=True, slots=True)
class ToEnd:
    """An attempt that is to end, until when the order is worth passing on, and why."""

    attempt_id: UUID
    reason: str
    until: float
    """On the monotonic clock; later its own heartbeat has ended it."""


class CeleryExecutor(Executor):
    """Publishes attempts to the queue that their task names."""

    name = "celery"

    def __init__(self, database: Database, settings: Settings, clock: Clock | None = None) -> None:
        super().__init__(database, settings)
        self.slots = settings.parallelism
        self._clock = clock or SystemClock()
        self._broker = Broker(settings)
        self._tokens = AttemptTokens(settings.jwt_secret)
        self._leases = DatabaseLeases(database, settings, self._clock)
        self._lock = threading.Lock()
        self._waiting: dict[UUID, Waiting] = {}
        self._to_end: list[ToEnd] = []
        self._events: list[ExecutorEvent] = []
        self._broken = ""
        self._without_worker: tuple[str, ...] = ()
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
                try:
                    one = _waiting(workload)
                except ValueError as problem:
                    rejected |= self._reject(workload.get("attempt_id"), str(problem))
                else:
                    self._waiting.setdefault(one.ref.attempt_id, one)
        self._work.set()
        if rejected:
            self._on_event()

    def _reject(self, attempt_id: object, problem: str) -> bool:
        event = rejection(attempt_id, problem)
        if event is not None:
            self._events.append(event)
        return event is not None

    def events(self) -> list[ExecutorEvent]:
        """Return what happened since the last call."""
        with self._lock:
            events, self._events = self._events, []
        return events

    def troubles(self) -> list[Trouble]:
        """Return that the broker cannot be used, and which queues have attempts waiting but no worker."""
        broken = [Trouble(self._broken)] if self._broken else []
        return broken + [Trouble(f"no worker takes from queue {one!r}", queue=one) for one in self._without_worker]

    def terminate(self, attempt_id: UUID, reason: str) -> None:
        """Have whichever worker runs the attempt end it at once; its next heartbeat would end it in any case."""
        until = time.monotonic() + self.settings.lease_seconds
        with self._lock:
            self._waiting.pop(attempt_id, None)
            self._to_end.append(ToEnd(attempt_id, reason, until))
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
        self._broker.close()

    def _serve(self) -> None:
        pause, renew_at = _FIRST_PAUSE, 0.0
        while not self._stopping.is_set():
            is_reached = self._speak()
            if time.monotonic() >= renew_at:
                renew_at = time.monotonic() + self.settings.lease_renewal_seconds
                self._renew()
            if is_reached:
                pause = _FIRST_PAUSE
                self._work.wait(max(0.0, renew_at - time.monotonic()))
            else:
                self._stopping.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _speak(self) -> bool:
        """Tell the broker what there is to tell; return whether it could be told."""
        self._work.clear()
        try:
            self._publish_due()
            self._end_due()
        except BrokerError as error:
            if str(error) != self._broken:
                log.warning("%s; what waits is published when it can be", error)
            self._broken = str(error)
            return False
        except Exception:
            # Whatever it is: without this thread no attempt would ever be published.
            log.exception("attempts could not be published, trying again")
            return False
        if self._broken:
            log.info("the broker can be used again")
            self._broken = ""
        return True

    def _publish_due(self) -> None:
        now = time.monotonic()
        with self._lock:
            due = [one for one in self._waiting.values() if one.look_at <= now]
        fresh = [one for one in due if not one.published]
        for one in self._published([*fresh, *self._missing([one for one in due if one.published])]):
            one.published = True
            one.look_at = time.monotonic() + self.settings.lease_seconds

    def _published(self, chosen: list[Waiting]) -> Iterator[Waiting]:
        """Publish attempts; yield each as soon as the broker has it."""
        if chosen:
            now = self._clock.now()
            messages = (
                (one.workload, self._tokens.issue(AttemptClaim(one.ref, Scope.QUEUED), now=now)) for one in chosen
            )
            for one, _ in zip(chosen, self._broker.publish(messages), strict=True):
                yield one

    def _missing(self, due: list[Waiting]) -> list[Waiting]:
        """Return those of long ago that have no message any more, as far as the lengths of the queues tell.

        A worker starts what it takes from a queue at once, so a message that is in no queue and was not started in a
        lease's time went down with its worker, or with the broker. Where messages wait, a worker may be missing.
        """
        lengths = self._broker.lengths({one.workload["queue"] for one in due})
        later = time.monotonic() + self.settings.lease_seconds
        missing = []
        for one in due:
            if lengths[one.workload["queue"]] == 0:
                missing.append(one)
            else:
                one.look_at = later
        if due or self._without_worker:
            self._note_workers({queue for queue, length in lengths.items() if length})
        return missing

    def _note_workers(self, queues: set[str]) -> None:
        """Note which of the queues that have had messages for long have no worker."""
        without = queues - self._broker.queues_with_workers() if queues else set()
        if without - set(self._without_worker):
            log.warning("attempts wait in queues from which no worker takes: %s", ", ".join(sorted(without)))
        self._without_worker = tuple(sorted(without))

    def _end_due(self) -> None:
        with self._lock:
            orders = list(self._to_end)
        for order in orders:
            if order.until > time.monotonic():
                self._broker.end_attempt(order.attempt_id, order.reason)
            with self._lock:
                self._to_end.remove(order)

    def _renew(self) -> None:
        """Renew the leases of what waits; forget what a worker has started, or what is over."""
        with self._lock:
            waiting = list(self._waiting.values())
        if not waiting:
            return
        try:
            kept = self._leases.keep(
                [one.ref for one in waiting if "callback" not in one.workload],
                [one.ref for one in waiting if "callback" in one.workload],
            )
        except Exception as error:
            # Not only a database that is away: this thread must not end.
            log.warning("the leases of %d waiting attempts could not be renewed: %s", len(waiting), error)
            return
        with self._lock:
            for one in waiting:
                if one.ref.attempt_id not in kept:
                    self._waiting.pop(one.ref.attempt_id, None)


def _waiting(workload: Workload) -> Waiting:
    """Return a workload as one that waits.

    Raises:
        ValueError: it cannot run; the message is one sentence.
    """
    problem = problem_of(workload)
    if problem is not None:
        raise ValueError(problem)
    try:
        attempt_id, month = UUID(workload["attempt_id"]), date.fromisoformat(workload["month"])
    except ValueError as error:
        raise ValueError(f"the workload has no usable attempt_id or month: {error}") from error
    return Waiting(workload, AttemptRef(attempt_id, workload["task_instance_id"], month))
