"""Tells the server of the one attempt of this process, on threads of its own, and hands the answers to the event loop.

Start, heartbeats and end go through one thread, the task's questions through another, so that a slow answer never
costs the lease. A server that is away is asked again; if the process dies, the lease tells the server.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, Protocol

from treadle_executors.batches import Answers, Batch, ExecutionUnavailable, without_payload
from treadle_executors.http_execution import HttpExecution
from treadle_metadata.errors import MetadataError
from treadle_worker.event_loop import EventLoop
from treadle_worker.protocol import FinishReport, Heartbeat, Request, StartAnswer, StartReport

log = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0
_QUESTION_TRIES: Final = 20


class Heard(Protocol):
    """What the event loop is told; each is called on the loop's thread."""

    def answered(self, answer: StartAnswer) -> None:
        """The server says whether the attempt may run."""

    def renewed(self, attempt_id: str, asked_at: float) -> None:
        """The lease was renewed."""

    def disowned(self) -> None:
        """The attempt is no longer this process's."""

    def recorded(self, *, was_taken: bool) -> None:
        """The end is recorded, or, not ``was_taken``, cannot be."""


class Reporter:
    """The two threads. ``patience`` is how long, in seconds, the server may be away at the start and at the end."""

    def __init__(self, loop: EventLoop, execution: HttpExecution, heard: Heard, patience: float) -> None:
        self._loop = loop
        self._execution = execution
        self._heard = heard
        self._patience = patience
        self._reports: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._questions: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._done: deque[Callable[[], None]] = deque()
        self._pause = threading.Event()
        self._reading, self._writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        loop.watch(self._reading, self._deliver)

    def open(self) -> None:
        """Start the threads; they end with the process."""
        for jobs, name in ((self._reports, "reports"), (self._questions, "questions")):
            threading.Thread(target=_serve, args=(jobs,), name=name, daemon=True).start()

    def start(self, report: StartReport) -> None:
        """Report the start; the answer comes to ``answered``."""
        self._reports.put(lambda: self._start(report))

    def beat(self, heartbeat: Heartbeat) -> None:
        """Renew the lease."""
        self._reports.put(lambda: self._beat(heartbeat))

    def finish(self, report: FinishReport) -> None:
        """Report the end."""
        self._reports.put(lambda: self._finish(report))

    def ask(self, request: Request, reply: Callable[[dict[str, Any]], None]) -> None:
        """Have a question answered; ``reply`` gets ``result`` or ``error``, on the loop's thread."""
        self._questions.put(lambda: self._ask(request, reply))

    def _start(self, report: StartReport) -> None:
        refused: StartAnswer = {"attempt_id": report["attempt_id"], "accepted": False, "reason": ""}
        try:
            answers = self._record(Batch(starts=[report]))
        except (MetadataError, ExecutionUnavailable) as error:
            answer: StartAnswer = {**refused, "reason": str(error)}
        else:
            answer = answers.starts[0]
        self.tell(lambda: self._heard.answered(answer))

    def _beat(self, heartbeat: Heartbeat) -> None:
        try:
            answers = self._execution.record(Batch(heartbeats=[heartbeat]))
        except (MetadataError, ExecutionUnavailable) as error:
            log.warning("the lease could not be renewed: %s", error)
            return
        attempt_id = heartbeat["attempt_id"]
        if attempt_id in answers.ours:
            self.tell(lambda: self._heard.renewed(attempt_id, heartbeat["asked_at"]))
        else:
            self.tell(self._heard.disowned)

    def _finish(self, report: FinishReport) -> None:
        try:
            try:
                self._record(Batch(finishes=[report]))
            except MetadataError as error:
                self._record(Batch(finishes=[without_payload(report, str(error))]))
        except (MetadataError, ExecutionUnavailable) as error:
            log.error("the end of attempt %s is left to its lease: %s", report["attempt_id"], error)
            self.tell(lambda: self._heard.recorded(was_taken=False))
        else:
            self.tell(lambda: self._heard.recorded(was_taken=True))

    def _record(self, batch: Batch) -> Answers:
        pause, waited = _FIRST_PAUSE, 0.0
        while True:
            try:
                return self._execution.record(batch)
            except ExecutionUnavailable as error:
                if waited >= self._patience:
                    raise
                log.warning("the server does not answer, trying again: %s", error)
            self._pause.wait(pause)
            waited += pause
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _ask(self, request: Request, reply: Callable[[dict[str, Any]], None]) -> None:
        said: dict[str, Any] = {"error": "the server does not answer"}
        for _ in range(_QUESTION_TRIES):
            try:
                said = {"result": self._execution.answer(request)}
                break
            except ExecutionUnavailable as error:
                said = {"error": str(error)}
                self._pause.wait(1.0)
            except Exception as error:
                said = {"error": str(error)}
                break
        self.tell(lambda: reply(said))

    def tell(self, what: Callable[[], None]) -> None:
        """Have ``what`` called on the loop's thread; safe from any thread, and from a signal's handler."""
        self._done.append(what)
        os.write(self._writing, b"x")

    def _deliver(self, _: int) -> None:
        os.read(self._reading, 4096)
        while self._done:
            self._done.popleft()()


def _serve(jobs: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        try:
            jobs.get()()
        except Exception:
            # Without this thread the attempt would end by its lease, however well it does.
            log.exception("a report could not be sent")
