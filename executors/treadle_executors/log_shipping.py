"""Ships the logs of attempts on a worker machine to the server, while they run: a lost machine loses seconds of log.

The runner host writes them into a folder of the worker's own; one thread sends what was added, of all attempts in one
request, and removes the file of an attempt that is over once the server has all of it. A server that is away or has no
room is waited for: what it does not have yet is sent later.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from treadle_executors.batches import ExecutionUnavailable
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

    def base_of(self, attempt_id: str) -> int | None:
        """Return where the first byte of a log lies on the server; None until that has said so."""
        with self._lock:
            found = self._followed.get(attempt_id)
        return None if found is None else found.base

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
            except Exception:
                # Without this thread no log would ever be sent again, and the machine's disk would fill.
                log.exception("logs could not be sent; trying again")

    def _send(self) -> bool:
        """Send one request, if there is anything to send; tell whether there may be more."""
        with self._sending:
            with self._lock:
                followed = list(self._followed.values())
            # Asked before the files are read: what is over by then is whole when it is read.
            over = [one for one in followed if one.over]
            parts = _parts(followed)
            sizes = self._execution.send_logs(parts) if parts else {}
            by_attempt = {one.attempt_id: one for one in followed}
            moved = [self._note(by_attempt[part.attempt_id], part, sizes.get(part.attempt_id)) for part in parts]
            for one in over:
                if _rest_of(one) == 0:
                    self._forget(one)
        return any(moved)

    def _note(self, one: Followed, part: LogPart, size: int | None) -> bool:
        """Note what the server has of a log by now; tell whether that is more than before."""
        if size is None:
            self._forget(one)  # refused: its token is dead, or its attempt is gone
            return False
        if one.base is None:
            one.base = size
            return True
        # Less than was sent, if the server has lost it: then that is sent again.
        before, one.sent = one.sent, max(0, min(size - one.base, one.sent + len(part.data)))
        return one.sent > before

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


def _rest_of(one: Followed) -> int:
    """Return how many bytes of a log the server does not have."""
    try:
        return max(0, one.path.stat().st_size - one.sent)
    except OSError:
        return 0


def _read(path: Path, offset: int, size: int) -> bytes:
    if size <= 0:
        return b""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(size)
    except OSError:
        return b""
