"""How other threads, and signal handlers, have something done in the event loop's thread."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable

from treadle_worker.event_loop import EventLoop


class Mailbox:
    """Calls what was posted, in order, in the loop's thread."""

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self._posted: deque[Callable[[], None]] = deque()
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        loop.watch(self._read, self._deliver)

    def post(self, act: Callable[[], None]) -> None:
        """Have ``act`` called soon. Any thread, or a signal handler, may post."""
        self._posted.append(act)
        # A full pipe wakes the loop as well.
        with contextlib.suppress(BlockingIOError):
            os.write(self._write, b"\0")

    def _deliver(self, _: int) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 4096)
        while self._posted:
            self._posted.popleft()()

    def close(self) -> None:
        """Close the pipe; nothing may post any more."""
        self._loop.forget(self._read)
        os.close(self._read)
        os.close(self._write)
