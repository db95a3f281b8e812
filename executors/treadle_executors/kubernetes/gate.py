"""How fast pods are made: many at once while the cluster takes them, one at a time after it refused one.

A quota that is used up, or an API under load, must not be hammered (case C12): after a refusal the gate closes, for a
pause that doubles with chance in it; then one creation tries. Each that succeeds lets one more in at the same time.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable


class Gate:
    """Lets creations through; used by every thread that makes pods."""

    def __init__(
        self, width: int, first_pause: float, longest_pause: float, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = width
        self._first = first_pause
        self._longest = longest_pause
        self._now = now
        self._lock = threading.Lock()
        self._width = width
        self._inside = 0
        self._failures = 0
        self._opens_at = 0.0

    def enter(self) -> float:
        """Return 0 and let the caller in, or how many seconds to wait before asking again."""
        with self._lock:
            if self._inside >= self._width:
                return 0.02 if self._failures == 0 else 0.1
            left = self._opens_at - self._now()
            if left > 0:
                return left
            self._inside += 1
            return 0.0

    def passed(self) -> None:
        """The cluster took a pod (or refused it for good)."""
        with self._lock:
            self._inside -= 1
            self._failures = 0
            self._width = min(self._most, self._width + 1)

    def refused(self, at_least: float | None) -> None:
        """The cluster refused it for now; ``at_least`` is how long it asked to be left alone."""
        with self._lock:
            self._inside -= 1
            self._width = 1
            # Creations that were under way together are one refusal.
            if self._now() < self._opens_at:
                return
            pause = min(self._longest, self._first * 2**self._failures)
            self._failures = min(self._failures + 1, 30)
            self._opens_at = self._now() + max(at_least or 0.0, pause * random.uniform(0.5, 1.0))

    def room(self) -> None:
        """A pod has ended, so that a quota may have room: the next may try soon."""
        with self._lock:
            if self._failures:
                self._opens_at = min(self._opens_at, self._now() + self._first * random.uniform(0.5, 1.0))
