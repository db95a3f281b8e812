"""The Execution API as a triggerer speaks it: beats, what happened, questions. All a triggerer proves is its token.

Used by ``daemon``, from several threads. A server that is away or fails raises ServerUnavailable, and the caller tries
again; nothing is kept here but the token, which is renewed with each beat.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import urllib3

from treadle_executors.batches import VERSION, VERSION_HEADER

_HEADERS: Final = {"Content-Type": "application/json", VERSION_HEADER: str(VERSION)}
_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 30.0
_CONNECTIONS: Final = 8
_ITS_FAULT: Final = 500
"""What a server answers that met something unexpected; one whose database is away answers 503, a proxy 502 to 504."""


class ServerUnavailable(Exception):
    """The server cannot be reached, or fails just now; the same call may succeed later."""


class ServerFailed(ServerUnavailable):
    """The server failed at this very request; it may do so each time, while it serves all others."""


class ServerRefused(Exception):
    """The server refuses what it was sent, as it is; ``str()`` says why."""


class Server:
    """The Execution API at ``url`` (of the web server, without a path)."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/") + "/execution/v1/triggerers/"
        self._token = token
        self._pool = urllib3.PoolManager(
            maxsize=_CONNECTIONS, retries=False, timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS)
        )

    def beat(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Renew the lease, and return what is to be run and cancelled.

        Raises:
            ServerUnavailable: try again.
            ServerRefused: the token is no good, or this version is too new for the server.
        """
        answer = self._send("beats", body)
        self._token = answer["token"]
        return answer

    def record(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Report what happened. Raises as :meth:`beat` does, and ServerFailed if it may be the report's fault."""
        return self._send("events", body)

    def ask(self, body: Mapping[str, Any]) -> Any:
        """Return the answer to a trigger's question. Raises as :meth:`beat` does."""
        return self._send("questions", body)["result"]

    def leave(self, process_id: str, suspects: Sequence[int] = (), ending: str = "") -> None:
        """Free all that this triggerer runs. Raises as :meth:`beat` does.

        ``suspects``: those whose code ran when the loop's process died, in words: its ``ending``.
        """
        self._send("leavings", {"process_id": process_id, "suspects": list(suspects), "ending": ending})

    def _send(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        headers = {**_HEADERS, "Authorization": f"Bearer {self._token}"}
        content = json.dumps(body, default=str).encode("utf-8", "replace")
        try:
            reply = self._pool.request("POST", self._url + path, body=content, headers=headers)
        except urllib3.exceptions.HTTPError as error:
            raise ServerUnavailable(f"{self._url}{path}: {error}") from error
        if reply.status >= 500 or reply.status == 429:
            self._pool.clear()  # a server that fails closes the connection, and the next request would find it dead
            kind = ServerFailed if reply.status == _ITS_FAULT else ServerUnavailable
            raise kind(f"{self._url}{path} answered {reply.status}")
        try:
            said: dict[str, Any] = reply.json()
        except ValueError as error:
            raise ServerUnavailable(f"{self._url}{path} answered something that is no JSON") from error
        if reply.status >= 400:
            raise ServerRefused(f"the server refused {path} ({reply.status}): {said.get('detail')}")
        return said
