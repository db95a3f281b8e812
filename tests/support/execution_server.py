"""A small real HTTP server that speaks the Execution API for an Execution API in memory: what remote workers report to.

It asks for no valid token: what tokens allow is tested against the web server itself.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from treadle_executors.batches import Batch
from treadle_executors.execution_api import ExecutionUnavailable
from treadle_executors.memory_execution import MemoryExecution


class ExecutionServer(ThreadingHTTPServer):
    """Serves ``execution``, which may be changed for another at any time."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.execution = MemoryExecution()

    @property
    def url(self) -> str:
        """The address for the setting ``execution_url``."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def reports(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Record a batch."""
        batch = Batch(*([_report(item) for item in said[kind]] for kind in ("starts", "finishes", "heartbeats")))
        answers = self.execution.record(batch)
        return {
            "starts": answers.starts,
            "accepted": sorted(answers.accepted),
            "ours": sorted(answers.ours),
            "tokens": {one["attempt_id"]: "a token" for one in answers.starts if one["accepted"]},
            "refused": [],
        }

    def questions(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a question."""
        asked: Any = {"id": 0, "attempt_id": "", "task_instance_id": 0, "month": "", **said}
        return {"result": self.execution.answer(asked)}

    def logs(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Take parts of logs as if they were kept."""
        return {
            "sizes": {one["attempt_id"]: one["offset"] + len(one["data"]) * 3 // 4 for one in said["parts"]},
            "refused": [],
        }


class _Handler(BaseHTTPRequestHandler):
    server: ExecutionServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer one request."""
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        acts: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "/execution/v1/reports": self.server.reports,
            "/execution/v1/questions": self.server.questions,
            "/execution/v1/logs": self.server.logs,
        }
        try:
            status, answer = 200, acts[self.path](said)
        except ExecutionUnavailable as error:
            status, answer = 503, {"detail": str(error)}
        except (KeyError, TypeError, ValueError) as error:
            status, answer = 422, {"detail": repr(error)}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


def _report(item: dict[str, Any]) -> Any:
    return {name: value for name, value in item.items() if name != "token"}


@contextmanager
def execution_server() -> Iterator[ExecutionServer]:
    """Serve until the block ends."""
    server = ExecutionServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
