"""The Execution API from a worker machine: the same reports and questions, over HTTP, each with its attempt's token.

Used by whatever holds a runner host away from the database (a Celery worker, a pod). It implements ``ExecutionApi``, so
that host, recorder and questions work as they do beside the database. A server that is away or fails raises
ExecutionUnavailable, and the caller tries again; nothing is kept here but tokens.
"""

from __future__ import annotations

import base64
import json
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

import urllib3

from treadle_executors.batches import VERSION, VERSION_HEADER, Answers, Batch, ExecutionFailing, ExecutionUnavailable
from treadle_metadata.errors import InvalidRequestError
from treadle_worker.protocol import Request, StartAnswer

log = logging.getLogger(__name__)

_HEADERS: Final = {"Content-Type": "application/json", VERSION_HEADER: str(VERSION)}
_AWAY: Final = (429, 502, 503, 504)
"""Statuses of a server, or of what stands before it, that says that it cannot work just now."""

_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 30.0
_CONNECTIONS: Final = 4


@dataclass(frozen=True, slots=True)
class LogPart:
    """A part of an attempt's log, at its byte offset on the server; without data it asks how much there is."""

    attempt_id: str
    token: str
    offset: int = 0
    data: bytes = b""


class HttpExecution:
    """The Execution API at ``url`` (of the web server, without a path); safe to use from several threads."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/") + "/execution/v1/"
        self._pool = urllib3.PoolManager(
            maxsize=_CONNECTIONS, retries=False, timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS)
        )
        self._lock = threading.Lock()
        self._tokens: dict[str, str] = {}

    def hold(self, attempt_id: str, token: str) -> None:
        """Use ``token`` for an attempt that was taken over."""
        with self._lock:
            self._tokens[attempt_id] = token

    def record(self, batch: Batch) -> Answers:
        """Send a batch.

        Raises:
            ExecutionUnavailable: the server cannot be reached, or fails just now.
            InvalidRequestError: the server refuses the batch as it is.
        """
        kinds = {"starts": batch.starts, "finishes": batch.finishes, "heartbeats": batch.heartbeats}
        signed = {kind: self._signed(cast("Sequence[Any]", items)) for kind, items in kinds.items()}
        body = {**signed, "sent_at": datetime.now(UTC).isoformat()}
        tokens = [one["token"] for items in signed.values() for one in items]
        # The request as a whole proves itself with the longest-lived token; each item is judged by its own.
        said = self._send("POST", "reports", json.dumps(body, default=str).encode(), _bearer(_newest(tokens)))
        starts = _with_refused(batch, said)
        over = [one["attempt_id"] for one in batch.finishes]
        over += [one["attempt_id"] for one in starts if not one["accepted"]]
        with self._lock:
            self._tokens.update(said["tokens"])
            for attempt_id in over:
                self._tokens.pop(attempt_id, None)
        return Answers(starts=starts, accepted=set(said["accepted"]), ours=set(said["ours"]))

    def answer(self, request: Request) -> Any:
        """Ask a task's question.

        Raises:
            ExecutionUnavailable: the server cannot be reached, or fails just now.
            InvalidRequestError: the server refuses the question.
        """
        body = json.dumps({"op": request["op"], "args": request["args"]}, default=str).encode()
        return self._send("POST", "questions", body, self._proof(request["attempt_id"]))["result"]

    def token_of(self, attempt_id: str) -> str:
        """Return the newest token of an attempt; empty once it is over."""
        with self._lock:
            return self._tokens.get(attempt_id, "")

    def send_logs(self, parts: Sequence[LogPart]) -> dict[str, int]:
        """Send parts of attempts' logs; return how many bytes of each the server has. Those refused are left out.

        Raises:
            ExecutionUnavailable: the server cannot be reached, or fails just now.
        """
        body = [
            {
                "attempt_id": one.attempt_id,
                "token": one.token,
                "offset": one.offset,
                "data": base64.b64encode(one.data).decode(),
            }
            for one in parts
        ]
        proof = _bearer(_newest([one.token for one in parts]))
        said = self._send("POST", "logs", json.dumps({"parts": body}).encode(), proof)
        for one in said["refused"]:
            log.warning("the log of attempt %s was refused: %s", one["attempt_id"], one["reason"])
        sizes: dict[str, int] = said["sizes"]
        return sizes

    def _signed(self, items: Sequence[Any]) -> list[dict[str, Any]]:
        with self._lock:
            return [{**item, "token": self._tokens.get(item["attempt_id"], "")} for item in items]

    def _proof(self, attempt_id: str) -> dict[str, str]:
        with self._lock:
            return _bearer(self._tokens.get(attempt_id, ""))

    def _send(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Any:
        try:
            reply = self._pool.request(method, self._url + path, body=body, headers=_HEADERS | headers)
        except urllib3.exceptions.HTTPError as error:
            raise ExecutionUnavailable(f"{self._url}: {error}") from error
        if reply.status >= 500 or reply.status == 429:
            self._pool.clear()  # a server that fails closes the connection, and the next request would find it dead
            kind = ExecutionUnavailable if reply.status in _AWAY else ExecutionFailing
            raise kind(f"{self._url}{path} answered {reply.status}")
        try:
            said = reply.json()
        except ValueError as error:
            raise ExecutionFailing(f"{self._url}{path} answered something that is no JSON") from error
        if reply.status >= 400:
            detail = said.get("detail") if isinstance(said, dict) else said
            raise InvalidRequestError(f"the server refused {path.partition('?')[0]} ({reply.status}): {detail}")
        return said


def _with_refused(batch: Batch, said: dict[str, Any]) -> list[StartAnswer]:
    """Return an answer to each start of ``batch``; one whose token was refused is not among the server's answers."""
    starts = [cast("StartAnswer", one) for one in said["starts"]]
    answered = {one["attempt_id"] for one in starts}
    reasons = {one["attempt_id"]: one["reason"] for one in said["refused"]}
    for one in batch.starts:
        attempt_id = one["attempt_id"]
        if attempt_id not in answered:
            reason = reasons.get(attempt_id, "the server did not answer to it")
            starts.append({"attempt_id": attempt_id, "accepted": False, "reason": reason})
    return starts


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _newest(tokens: Sequence[str]) -> str:
    """Return the token that expires last; what is no token counts as expired."""
    return max(tokens, key=_expiry, default="")


def _expiry(token: str) -> float:
    # Read by hand: PyJWT and its cryptography would be a third of what a pod's start costs. The server verifies it.
    try:
        content = token.split(".")[1]
        return float(json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)))["exp"])
    except (IndexError, KeyError, TypeError, ValueError):
        return 0.0
