"""The runner host's loop: file descriptors, timers, and nothing else.

A loop of its own, since a task costs the host about ten events and asyncio's machinery would double the price of each.
Handlers are called with the event mask; they read a bounded amount, so that every descriptor gets its turn. A handler
that raises ends the loop: the host would rather die, and have its attempts reported lost, than guess.
"""

from __future__ import annotations

import heapq
import itertools
import select
import time
from collections.abc import Callable
from typing import Final

READ: Final = select.EPOLLIN
WRITE: Final = select.EPOLLOUT

Handler = Callable[[int], None]


class Timer:
    """A call that is due at a moment of the monotonic clock; ``cancel`` makes it void."""

    __slots__ = ("act",)

    def __init__(self, act: Callable[[], None]) -> None:
        self.act: Callable[[], None] | None = act

    def cancel(self) -> None:
        """Make the timer void; a second call does nothing."""
        self.act = None


class EventLoop:
    """Waits for descriptors and timers, and calls ``after_turn`` once per round."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._handlers: dict[int, Handler] = {}
        self._timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._tidy_at = 64
        self._running = False
        self.after_turn: Callable[[], None] = lambda: None

    def watch(self, fd: int, handler: Handler, events: int = READ) -> None:
        """Call ``handler`` whenever ``fd`` is ready for ``events``."""
        self._handlers[fd] = handler
        self._epoll.register(fd, events)

    def change(self, fd: int, events: int) -> None:
        """Wait for other events of a watched descriptor."""
        self._epoll.modify(fd, events)

    def forget(self, fd: int) -> None:
        """Stop watching ``fd``; call it before closing. An unwatched descriptor is ignored."""
        if self._handlers.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    @staticmethod
    def now() -> float:
        """Return the monotonic time that timers go by, in seconds."""
        return time.monotonic()

    def later(self, seconds: float, act: Callable[[], None]) -> Timer:
        """Call ``act`` once, in ``seconds``."""
        if len(self._timers) >= self._tidy_at:
            # Cancelled timers would otherwise stay until they are due: hours, for a task's time limit.
            self._timers = [entry for entry in self._timers if entry[2].act is not None]
            heapq.heapify(self._timers)
            self._tidy_at = max(64, 2 * len(self._timers))
        timer = Timer(act)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), timer))
        return timer

    @property
    def pending_timers(self) -> int:
        """How many timers are kept, cancelled ones included."""
        return len(self._timers)

    def stop(self) -> None:
        """Leave :meth:`run` after the current round."""
        self._running = False

    def run(self) -> None:
        """Serve until :meth:`stop`."""
        self._running = True
        handlers = self._handlers
        while self._running:
            for fd, events in self._epoll.poll(self._patience(), 256):
                handler = handlers.get(fd)
                if handler is not None:
                    handler(events)
            if self._timers:
                self._fire()
            self.after_turn()

    def _patience(self) -> float:
        while self._timers and self._timers[0][2].act is None:
            heapq.heappop(self._timers)
        if not self._timers:
            return -1
        return max(0.0, self._timers[0][0] - time.monotonic())

    def _fire(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            act = heapq.heappop(self._timers)[2].act
            if act is not None:
                act()
