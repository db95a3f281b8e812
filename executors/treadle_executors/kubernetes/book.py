"""What the executor knows of its attempts and pods, behind one lock. No request is made here.

An attempt is *held* from its hand-over until its pod has ended; a pod is *watched* from when the cluster tells of it,
whoever made it. Only what is needed later is kept: a workload is dropped once its pod has it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from treadle_executors.kubernetes import names
from treadle_executors.kubernetes.pod_state import Ended, PodView
from treadle_metadata.identifiers import AttemptRef
from treadle_worker.protocol import Workload


@dataclass(slots=True, eq=False)
class Held:
    """An attempt that was handed over. ``workload`` is None once its pod and its secret are made."""

    ref: AttemptRef
    name: str
    is_callback: bool
    workload: Workload | None
    creates: int = 0
    uid: str | None = None
    made_at: float = 0.0
    """When its pod was made, on the monotonic clock."""
    is_unwanted: bool = False
    """It was terminated while its pod was being made."""
    has_started: bool = False


@dataclass(slots=True, eq=False)
class Watched:
    """A pod of the cluster. ``ended`` is set once, and then it is settled."""

    view: PodView
    since: float = field(default_factory=time.monotonic)
    ended: Ended | None = None
    is_told: bool = False
    """The event of its end is out."""
    has_started: bool = False


class Book:
    """The attempts and pods; every method is safe from any thread."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._lock = threading.Condition()
        self._backlog: deque[Held] = deque()
        self._held: dict[UUID, Held] = {}
        self._pods: dict[UUID, Watched] = {}
        self._in_flight: set[UUID] = set()
        """Attempts of tasks whose pods are being made or have not ended."""
        self._to_end: dict[UUID, float] = {}
        """Attempts to end of which nothing is known yet, and until when that is worth remembering."""
        self._is_closed = False

    def add(self, ref: AttemptRef, workload: Workload) -> None:
        """Hold an attempt, unless it is held or its pod is there."""
        with self._lock:
            if ref.attempt_id not in self._held and ref.attempt_id not in self._pods:
                held = Held(ref, names.pod_name(workload), "callback" in workload, workload)
                self._held[ref.attempt_id] = held
                self._backlog.append(held)
                self._lock.notify_all()

    def next(self) -> Held | None:
        """Wait for an attempt whose pod may be made now; None once the book is closed."""
        with self._lock:
            while True:
                if self._is_closed:
                    return None
                held = self._take()
                if held is not None:
                    return held
                self._lock.wait()

    def _take(self) -> Held | None:
        is_full = len(self._in_flight) >= self._slots
        for position, held in enumerate(self._backlog):
            if held.is_callback or not is_full:
                del self._backlog[position]
                if not held.is_callback:
                    self._in_flight.add(held.ref.attempt_id)
                return held
        return None

    def put_back(self, held: Held) -> None:
        """A pod could not be made yet: it is the next again."""
        with self._lock:
            self._in_flight.discard(held.ref.attempt_id)
            if held.ref.attempt_id in self._held:
                self._backlog.appendleft(held)
                self._lock.notify_all()

    def made(self, held: Held) -> bool:
        """The pod and its secret are there; tell whether it is to be deleted at once."""
        with self._lock:
            held.workload, held.made_at = None, time.monotonic()
            return held.is_unwanted or held.ref.attempt_id not in self._held

    def drop(self, attempt_id: UUID) -> None:
        """Forget an attempt: it is over, or no pod can be made."""
        with self._lock:
            self._drop(attempt_id)

    def _drop(self, attempt_id: UUID) -> None:
        held = self._held.pop(attempt_id, None)
        if held is not None and held in self._backlog:
            self._backlog.remove(held)
        self._in_flight.discard(attempt_id)
        self._lock.notify_all()

    def unwanted(self, attempt_id: UUID, seconds: float) -> tuple[str, str | None] | None:
        """An attempt is to end: return name and uid of its pod, or None if there is none (yet).

        One of which nothing is known may be a pod that the watch has not told of; that is remembered for ``seconds``.
        """
        with self._lock:
            watched, held = self._pods.get(attempt_id), self._held.get(attempt_id)
            if watched is not None:
                return watched.view.name, watched.view.uid
            if held is None:
                now = time.monotonic()
                self._to_end = {one: until for one, until in self._to_end.items() if until > now}
                self._to_end[attempt_id] = now + seconds
                return None
            if held.workload is None:
                return held.name, held.uid
            held.is_unwanted = True
            if held in self._backlog:
                self._drop(attempt_id)
            return None

    def seen(self, view: PodView) -> Watched | None:
        """Note a pod; return it if it has ended just now."""
        with self._lock:
            watched = self._pods.get(view.ref.attempt_id)
            if watched is None:
                watched = self._pods[view.ref.attempt_id] = Watched(view)
            watched.view = view
            return self._end(watched, view.ended) if view.ended is not None else None

    def is_to_end(self, attempt_id: UUID) -> bool:
        """Tell, once, whether a pod that was just seen is one that was to end before it was known."""
        with self._lock:
            until = self._to_end.pop(attempt_id, None) if self._to_end else None
            return until is not None and until > time.monotonic()

    def ended(self, attempt_id: UUID, ended: Ended, view: PodView | None) -> Watched | None:
        """A pod has ended as its status does not say (it is gone, or overdue); return it, once."""
        with self._lock:
            watched = self._pods.get(attempt_id)
            if watched is None and view is not None:
                watched = self._pods[attempt_id] = Watched(view)
            return None if watched is None else self._end(watched, ended)

    def _end(self, watched: Watched, ended: Ended) -> Watched | None:
        if watched.ended is not None:
            return None
        watched.ended = ended
        self._drop(watched.view.ref.attempt_id)
        return watched

    def forget_pod(self, attempt_id: UUID) -> None:
        """A pod is gone and settled."""
        with self._lock:
            self._pods.pop(attempt_id, None)

    def watched(self, attempt_id: UUID) -> Watched | None:
        """Return a pod."""
        with self._lock:
            return self._pods.get(attempt_id)

    def ended_pods(self) -> list[Watched]:
        """Return the pods that have ended and are not gone."""
        with self._lock:
            return [one for one in self._pods.values() if one.ended is not None]

    def pending(self, seconds: float) -> list[Watched]:
        """Return the pods that have been pending for longer than ``seconds``."""
        before = time.monotonic() - seconds
        with self._lock:
            return [
                one for one in self._pods.values() if one.ended is None and one.view.is_pending and one.since < before
            ]

    def unmade(self) -> int:
        """Return how many attempts have no pod yet, or one without its secret."""
        with self._lock:
            return sum(held.workload is not None for held in self._held.values())

    def unseen(self, seconds: float) -> list[Held]:
        """Return the attempts whose pods were made longer than ``seconds`` ago and were never told of."""
        before = time.monotonic() - seconds
        with self._lock:
            return [
                held
                for attempt_id, held in self._held.items()
                if held.workload is None and held.made_at < before and attempt_id not in self._pods
            ]

    def not_started(self) -> tuple[list[AttemptRef], list[AttemptRef]]:
        """Return the attempts of tasks and the callbacks that have not started, as far as is known."""
        with self._lock:
            found = {one.ref: one.is_callback for one in self._held.values() if not one.has_started}
            found |= {
                one.view.ref: one.view.is_callback
                for one in self._pods.values()
                if one.ended is None and not one.has_started
            }
        return [ref for ref, is_one in found.items() if not is_one], [ref for ref, is_one in found.items() if is_one]

    def started(self, refs: Iterable[AttemptRef]) -> None:
        """Attempts are not queued any more: started, or over. One without a pod needs none."""
        with self._lock:
            for ref in refs:
                watched, held = self._pods.get(ref.attempt_id), self._held.get(ref.attempt_id)
                if watched is not None:
                    watched.has_started = True
                if held is not None:
                    held.has_started = True
                    if held in self._backlog:
                        self._drop(ref.attempt_id)

    def has(self, attempt_id: UUID) -> bool:
        """Tell whether an attempt is held, or its pod watched and not ended."""
        with self._lock:
            watched = self._pods.get(attempt_id)
            return attempt_id in self._held or (watched is not None and watched.ended is None)

    def close(self) -> list[UUID]:
        """Let nobody make pods any more; return the attempts for which none was made."""
        with self._lock:
            self._is_closed = True
            waiting = [held.ref.attempt_id for held in self._backlog]
            for attempt_id in waiting:
                self._drop(attempt_id)
            self._lock.notify_all()
            return waiting
