"""An Execution API in memory, for tests of executors: it keeps what it is told and can be made to misbehave.

Part of the package, since third parties that inherit ``conformance`` need it too.
"""

from __future__ import annotations

import threading
from typing import Any, cast

from treadle_executors.execution_api import Answers, Batch, ExecutionUnavailable
from treadle_worker.protocol import FinishReport, Heartbeat, Request, StartReport


class MemoryExecution:
    """Accepts everything unless told otherwise; ``changed`` is notified after each batch."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.starts: list[StartReport] = []
        self.finishes: dict[str, FinishReport] = {}
        self.heartbeats: list[Heartbeat] = []
        self.requests: list[Request] = []
        self.batches = 0
        self.refused: set[str] = set()
        """Attempts whose start is refused."""
        self.disowned: set[str] = set()
        """Attempts whose heartbeats are told that they are no longer theirs."""
        self.unreachable = False
        self.asked_in_vain = threading.Event()
        """Set once someone has met it unreachable."""
        self.lost_answers = 0
        """How many of the next answers get lost on their way, with what was recorded standing."""
        self.poison = ""
        """A batch in which this text occurs raises ValueError, as a database refuses a bad value."""
        self.results: dict[str, Any] = {}
        """The result of each ``op``."""

    def record(self, batch: Batch) -> Answers:
        """Keep a batch."""
        with self.changed:
            if self.unreachable:
                self.asked_in_vain.set()
                raise ExecutionUnavailable("it was switched off")
            if self.poison and self.poison in repr([one["xcoms"] for one in batch.finishes]):
                raise ValueError(f"{self.poison} cannot be stored")
            self.batches += 1
            answers = Answers()
            for start in batch.starts:
                reason = self._refusal(start)
                answers.starts.append({"attempt_id": start["attempt_id"], "accepted": not reason, "reason": reason})
            for finish in batch.finishes:
                if self.finishes.setdefault(finish["attempt_id"], finish) is finish:
                    answers.accepted.add(finish["attempt_id"])
            self.heartbeats += batch.heartbeats
            answers.ours = {one["attempt_id"] for one in batch.heartbeats} - self.disowned
            self.changed.notify_all()
            if self.lost_answers:
                self.lost_answers -= 1
                raise ExecutionUnavailable("the answer was lost")
        return answers

    def _refusal(self, start: StartReport) -> str:
        """Keep a start, and return why its code must not run; the same report again is answered as the first was."""
        known = self._start_of(start["attempt_id"])
        if known is None:
            self.starts.append(start)
        elif (known["hostname"], known["started_at"]) != (start["hostname"], start["started_at"]):
            return "the attempt was started before"
        return "refused by the test" if start["attempt_id"] in self.refused else ""

    def answer(self, request: Request) -> Any:
        """Return the prepared result."""
        with self.changed:
            if self.unreachable:
                self.asked_in_vain.set()
                raise ExecutionUnavailable("it was switched off")
            self.requests.append(request)
            self.changed.notify_all()
        return self.results.get(request["op"])

    def wait_for_start(self, attempt_id: str, seconds: float = 20.0) -> StartReport:
        """Wait until the start of ``attempt_id`` is reported, and return the report."""
        with self.changed:
            self._wait(lambda: self._start_of(attempt_id) is not None, f"start of {attempt_id}", seconds)
            return cast("StartReport", self._start_of(attempt_id))

    def _start_of(self, attempt_id: str) -> StartReport | None:
        return next((one for one in self.starts if one["attempt_id"] == attempt_id), None)

    def wait_for_finish(self, attempt_id: str, seconds: float = 20.0) -> FinishReport:
        """Wait until the end of ``attempt_id`` is reported, and return the report."""
        with self.changed:
            self._wait(lambda: attempt_id in self.finishes, f"end of {attempt_id}", seconds)
            return self.finishes[attempt_id]

    def _wait(self, condition: Any, what: str, seconds: float) -> None:
        if not self.changed.wait_for(condition, seconds):
            raise AssertionError(f"the {what} was not reported within {seconds:g} s; ends: {self.finishes}")
