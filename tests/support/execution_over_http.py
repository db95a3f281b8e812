"""The Execution API in memory behind real HTTP, for executors whose workers report from elsewhere.

It speaks what the web server's ``/execution/v1`` speaks, without tokens' signatures: any token will do.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from treadle_executors.batches import Batch, ExecutionUnavailable
from treadle_executors.memory_execution import MemoryExecution


class ExecutionServer:
    """Serves ``execution`` at ``url``; keeps the logs that it was sent in ``logs``, by attempt id."""

    def __init__(self, execution: MemoryExecution) -> None:
        self.execution = execution
        self.logs: dict[str, bytes] = {}
        self.keeps_logs = True
        """Whether it takes logs just now."""
        self.tokens: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        """Serve."""
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return what the server says."""
        match path.rpartition("/")[2]:
            case "reports":
                return self._record(body)
            case "questions":
                asked: Any = {"id": 0, "attempt_id": "", "task_instance_id": 0, "month": "", **body}
                return {"result": self.execution.answer(asked)}
            case _:
                return self._append(body["parts"])

    def _record(self, body: dict[str, Any]) -> dict[str, Any]:
        # What else a newer worker may say about itself is none of a batch.
        lists = {name: body.get(name, []) for name in ("starts", "finishes", "heartbeats")}
        items = [one for group in lists.values() for one in group]
        self.tokens += [one.pop("token") for one in items]
        answers = self.execution.record(Batch(**lists))
        alive = [one["attempt_id"] for one in answers.starts if one["accepted"]] + sorted(answers.ours)
        return {
            "starts": answers.starts,
            "accepted": sorted(answers.accepted),
            "ours": sorted(answers.ours),
            "tokens": {one: f"running-{one}" for one in alive},
            "refused": [],
        }

    def _append(self, parts: list[dict[str, Any]]) -> dict[str, Any]:
        if not self.keeps_logs:
            raise ExecutionUnavailable("it has no room for logs")
        for part in parts:
            held = self.logs.setdefault(part["attempt_id"], b"")
            if part["offset"] == len(held):
                self.logs[part["attempt_id"]] = held + base64.b64decode(part["data"])
        return {"sizes": {one["attempt_id"]: len(self.logs[one["attempt_id"]]) for one in parts}, "refused": []}


def _handler_of(server: ExecutionServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                status, said = 200, server.answer(self.path, body)
            except ExecutionUnavailable as error:
                status, said = 503, {"detail": str(error)}
            content = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def execution_server(execution: MemoryExecution) -> Iterator[ExecutionServer]:
    """Yield a server that runs."""
    server = ExecutionServer(execution)
    server.start()
    try:
        yield server
    finally:
        server.close()
