"""Records what a runner host reports, whatever the database does meanwhile.

An unreachable server is waited for, and attempts whose lease runs out in that time are ended: another scheduler may
have taken them over. A report that the server refuses (not its connection: the report) is recorded alone, and if it is
a finish, as a failure that says so; it never holds up the others. One at which the server fails is taken for such a
report when two leases are over: nobody waits for it any more.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from typing import Final
from uuid import UUID

from treadle_executors.batches import Answers, Batch, ExecutionFailing, ExecutionUnavailable, without_payload
from treadle_executors.execution_api import ExecutionApi
from treadle_executors.executor import ExecutorEvent
from treadle_executors.host_process import HostProcess
from treadle_worker.frames import Message
from treadle_worker.protocol import Request

log = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0
_TRIES_WHILE_STOPPING: Final = 5
_LEASES_OF_FAILURE: Final = 2
_TOLD_AGAIN_SECONDS: Final = 30.0


def gathered(messages: Iterable[Message]) -> tuple[Batch, list[Request]]:
    """Return the reports of several frames as one batch, and the questions among them."""
    batch = Batch()
    questions: list[Request] = []
    for message in messages:
        match message["kind"]:
            case "starts":
                batch.starts += message["items"]
            case "finishes":
                batch.finishes += message["items"]
            case "heartbeats":
                batch.heartbeats += message["items"]
            case "request":
                questions.append(message)  # type: ignore[arg-type]
    return batch, questions


class Recorder:
    """Records batches; used by one thread, except for :meth:`begin` and :meth:`forget`."""

    def __init__(self, execution: ExecutionApi, lease_seconds: float, stopping: threading.Event) -> None:
        self._execution = execution
        self._lease_seconds = lease_seconds
        self._stopping = stopping
        self._renewed: dict[str, float] = {}

    def begin(self, attempt_ids: Iterable[str]) -> None:
        """Count the lease of attempts from now on."""
        now = time.monotonic()
        self._renewed.update(dict.fromkeys(attempt_ids, now))

    def forget(self, attempt_ids: Iterable[str]) -> None:
        """Forget attempts that are over."""
        for attempt_id in attempt_ids:
            self._renewed.pop(attempt_id, None)

    def record(self, batch: Batch, host: HostProcess) -> tuple[Answers, list[ExecutorEvent]]:
        """Record ``batch``, waiting for a server that is away; return the answers and what got lost."""
        events: list[ExecutorEvent] = []
        try:
            answers = self._persist(batch, host, _LEASES_OF_FAILURE * self._lease_seconds)
        except ExecutionFailing as error:
            log.error("the server has failed at %d reports for two leases; each is tried alone: %s", len(batch), error)
            answers, events = self._one_by_one(batch, host)
        except Exception:
            log.exception("a batch of %d reports was refused; each is recorded alone", len(batch))
            answers, events = self._one_by_one(batch, host)
        now = time.monotonic()
        kept = [one["attempt_id"] for one in answers.starts if one["accepted"]]
        for attempt_id in (*kept, *(answers.ours - answers.unsure)):
            if attempt_id in self._renewed:
                self._renewed[attempt_id] = now
        return answers, events

    def _persist(self, batch: Batch, host: HostProcess, patience: float = 0.0) -> Answers:
        """Record a batch; ``patience`` is for how many seconds the server may fail at it.

        Raises:
            ExecutionFailing: it has failed for longer.
        """
        pause, tries, began, told_at = _FIRST_PAUSE, 0, time.monotonic(), -_TOLD_AGAIN_SECONDS
        while True:
            try:
                return self._execution.record(batch)
            except ExecutionUnavailable as error:
                tries += 1
                now = time.monotonic()
                if isinstance(error, ExecutionFailing) and now - began >= patience:
                    raise
                if self._stopping.is_set() and tries >= _TRIES_WHILE_STOPPING:
                    log.error("%d reports are lost, the server cannot be reached: %s", len(batch), error)
                    return Answers()
                if now - told_at >= _TOLD_AGAIN_SECONDS:
                    log.warning("the server cannot be reached, trying again with %d reports: %s", len(batch), error)
                    told_at = now
            self._end_expired(host)
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _end_expired(self, host: HostProcess) -> None:
        now = time.monotonic()
        for attempt_id, renewed in list(self._renewed.items()):
            if now - renewed > self._lease_seconds:
                self._renewed.pop(attempt_id, None)
                reason = f"its lease of {self._lease_seconds:g} s could not be renewed: the server cannot be reached"
                host.send({"kind": "terminate", "attempt_id": attempt_id, "reason": reason})

    def _one_by_one(self, batch: Batch, host: HostProcess) -> tuple[Answers, list[ExecutorEvent]]:
        answers = Answers()
        events: list[ExecutorEvent] = []
        for single in batch.split():
            try:
                found = self._persist(single, host)
            except Exception as error:
                found = self._refused(single, f"{type(error).__name__}: {error}", host, events)
            answers.starts += found.starts
            answers.accepted |= found.accepted
            answers.ours |= found.ours
            answers.unsure |= found.unsure
        return answers, events

    def _refused(self, single: Batch, error: str, host: HostProcess, events: list[ExecutorEvent]) -> Answers:
        log.error("a report was refused: %s", error)
        if single.starts:
            reason = f"the server could not record the start: {error}"
            return Answers(starts=[{"attempt_id": single.starts[0]["attempt_id"], "accepted": False, "reason": reason}])
        if single.heartbeats:
            # Not knowing is no reason to end a task; its lease decides.
            attempt_id = single.heartbeats[0]["attempt_id"]
            return Answers(ours={attempt_id}, unsure={attempt_id})
        report = single.finishes[0]
        try:
            return self._persist(Batch(finishes=[without_payload(report, error)]), host)
        except Exception as second:
            reason = f"the server could not record how the attempt ended: {second}"
            events.append(ExecutorEvent("lost", UUID(report["attempt_id"]), reason))
            return Answers()
