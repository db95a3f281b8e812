"""Ships the logs of attempts on a worker machine to the server, while they run: a lost machine loses seconds of log.

The runner host writes them into a folder of the worker's own; one thread sends what was added, of all attempts in one
request, and removes the file of an attempt that is over once the server has all of it. A server that is away is waited
for: what could not be sent yet is sent later.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from treadle_executors.execution_api import ExecutionUnavailable
from treadle_executors.http_execution import HttpExecution, LogPart
from treadle_metadata.errors import MetadataError

log = logging.getLogger(__name__)

PERIOD_SECONDS: Final = 1.0
_LARGEST_PART: Final = 256 * 1024
_LARGEST_REQUEST: Final = 1024 * 1024


@dataclass(slots=True)
class Followed:
    """One attempt's log: its file, what of it was sent, and where its first byte lies in the server's log."""

    attempt_id: str
    path: Path
    token: str
    sent: int = 0
    base: int | None = None
    """Not zero where the same try has written before, on a machine that handed it back."""
    over: bool = False


class LogShipping:
    """Follows logs until they are over and sent; used from several threads."""

    def __init__(self, execution: HttpExecution) -> None:
        self._execution = execution
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._followed: dict[str, Followed] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="log-shipping", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def follow(self, attempt_id: str, path: Path, token: str) -> None:
        """Ship a log from now on."""
        with self._lock:
            self._followed[attempt_id] = Followed(attempt_id, path, token)

    def renew(self, attempt_id: str, token: str) -> None:
        """Use a newer token for an attempt's log."""
        with self._lock:
            if attempt_id in self._followed and token:
                self._followed[attempt_id].token = token

    def over(self, attempt_id: str) -> None:
        """Nothing more will be written: send the rest and forget the log."""
        with self._lock:
            if attempt_id in self._followed:
                self._followed[attempt_id].over = True

    def flush(self) -> None:
        """Send all that there is now, as far as the server answers."""
        with suppress(ExecutionUnavailable, MetadataError):
            while self._send():
                pass

    def end(self) -> None:
        """Stop, after one more attempt to send everything."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        self.flush()

    def _serve(self) -> None:
        while not self._stopping.wait(PERIOD_SECONDS):
            try:
                while self._send():
                    pass
            except (ExecutionUnavailable, MetadataError) as error:
                log.warning("logs cannot be sent yet: %s", error)

    def _send(self) -> bool:
        """Send one request, if there is anything to send; tell whether there may be more."""
        with self._sending:
            with self._lock:
                followed = list(self._followed.values())
            parts = _parts(followed)
            sizes = self._execution.send_logs(parts) if parts else {}
            self._note({part.attempt_id: part for part in parts}, sizes, followed)
        return bool(parts)

    def _note(self, parts: dict[str, LogPart], sizes: dict[str, int], followed: list[Followed]) -> None:
        for one in followed:
            part, size = parts.get(one.attempt_id), sizes.get(one.attempt_id)
            if part is not None and size is None:
                self._forget(one)  # refused: its token is dead, or its attempt is gone
            elif one.base is None and size is not None:
                one.base = size
            elif part is not None and one.base is not None:
                one.sent += len(part.data)
            elif part is None and one.over:
                self._forget(one)

    def _forget(self, one: Followed) -> None:
        with self._lock:
            self._followed.pop(one.attempt_id, None)
        with suppress(OSError):
            one.path.unlink()


def _parts(followed: list[Followed]) -> list[LogPart]:
    """Return what to send next: of each log its next part, as long as the request has room."""
    parts, room = [], _LARGEST_REQUEST
    for one in followed:
        data = _read(one.path, one.sent, min(room, _LARGEST_PART))
        if not data:
            continue
        if one.base is None:
            parts.append(LogPart(one.attempt_id, one.token))
        else:
            parts.append(LogPart(one.attempt_id, one.token, one.base + one.sent, data))
            room -= len(data)
    return parts


def _read(path: Path, offset: int, size: int) -> bytes:
    if size <= 0:
        return b""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(size)
    except OSError:
        return b""
