"""Answers tasks' questions on a thread of its own, so that they wait neither for finishes nor for starts.

What has gathered while the last ones were answered is answered together, where that can be; nothing waits to fill a
batch. If that fails, each is answered on its own.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from typing import Any, Final

from treadle_executors.execution_api import TOGETHER, AnswersTogether, ExecutionApi, ExecutionUnavailable
from treadle_executors.host_process import HostProcess
from treadle_metadata.errors import MetadataError
from treadle_worker.protocol import Request

log = logging.getLogger(__name__)

_PAUSE: Final = 0.25
_MOST_TOGETHER: Final = 64

Asked = tuple[Request, HostProcess]


class Questions:
    """A queue of questions and the thread that answers them."""

    def __init__(self, execution: ExecutionApi, patience_seconds: float, stopping: threading.Event) -> None:
        self._execution = execution
        self._patience_seconds = patience_seconds
        self._stopping = stopping
        self._queue: queue.SimpleQueue[Asked | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="local-executor-questions", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def ask(self, request: Request, host: HostProcess) -> None:
        """Have ``request`` answered to ``host``."""
        self._queue.put((request, host))

    def end(self) -> None:
        """Stop the thread; questions that still wait get no answer."""
        self._queue.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    def _serve(self) -> None:
        while (item := self._queue.get()) is not None:
            gathered, ends = self._gathered(item)
            if not self._stopping.is_set():
                for request, host in self._answered_together(gathered):
                    host.send({"kind": "reply", "id": request["id"], **self._answer(request)})
            if ends:
                return

    def _gathered(self, first: Asked) -> tuple[list[Asked], bool]:
        """Return what is there by now, and whether it is the last."""
        found = [first]
        while len(found) < _MOST_TOGETHER:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if item is None:
                return found, True
            found.append(item)
        return found, False

    def _answered_together(self, gathered: list[Asked]) -> list[Asked]:
        """Answer what can be answered together; return what is left."""
        execution = self._execution
        together = [one for one in gathered if one[0]["op"] in TOGETHER]
        if len(together) < 2 or not isinstance(execution, AnswersTogether):
            return gathered
        try:
            results = execution.answer_together([request for request, _ in together])
        except Exception as error:
            log.debug("%d questions are answered one by one, since together they cannot be: %s", len(together), error)
            return gathered
        for (request, host), result in zip(together, results, strict=True):
            host.send({"kind": "reply", "id": request["id"], "result": result})
        return [one for one in gathered if one[0]["op"] not in TOGETHER]

    def _answer(self, request: Request) -> dict[str, Any]:
        deadline = time.monotonic() + self._patience_seconds
        while True:
            try:
                return {"result": self._execution.answer(request)}
            except ExecutionUnavailable as error:
                if time.monotonic() > deadline or self._stopping.is_set():
                    return {"error": f"the database cannot be reached: {error}"}
                self._stopping.wait(_PAUSE)
            except MetadataError as error:
                return {"error": str(error)}
            except Exception as error:
                log.exception("a question of a task (%s) could not be answered", request.get("op"))
                return {"error": f"the server failed to answer ({type(error).__name__})"}
