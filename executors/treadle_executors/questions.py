"""Answers tasks' questions on a thread of its own, so that they wait neither for finishes nor for starts."""

from __future__ import annotations

import logging
import queue
import threading
import time
from typing import Any, Final

from treadle_executors.execution_api import ExecutionApi, ExecutionUnavailable
from treadle_executors.host_process import HostProcess
from treadle_metadata.errors import MetadataError
from treadle_worker.protocol import Request

log = logging.getLogger(__name__)

_PAUSE: Final = 0.25


class Questions:
    """A queue of questions and the thread that answers them."""

    def __init__(self, execution: ExecutionApi, patience_seconds: float, stopping: threading.Event) -> None:
        self._execution = execution
        self._patience_seconds = patience_seconds
        self._stopping = stopping
        self._queue: queue.SimpleQueue[tuple[Request, HostProcess] | None] = queue.SimpleQueue()
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
            request, host = item
            if not self._stopping.is_set():
                host.send({"kind": "reply", "id": request["id"], **self._answer(request)})

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
