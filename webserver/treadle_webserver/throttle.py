"""Slows down guessing of passwords: after some failures an address and a name have to wait.

Kept in memory, per web server process, bounded; a restart forgets it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import datetime, timedelta
from typing import Final

FAILURES: Final = 5
WINDOW: Final = timedelta(seconds=60)
_REMEMBERED: Final = 10_000

Key = tuple[str, str]
"""The address and the name of a login."""


class Throttle:
    """Counts failed logins; safe to use from several threads."""

    def __init__(self) -> None:
        self._failures: OrderedDict[Key, list[datetime]] = OrderedDict()
        self._lock = threading.Lock()

    def wait_seconds(self, key: Key, *, now: datetime) -> int:
        """Return how long ``key`` has to wait before its next try; 0 when it may try now."""
        with self._lock:
            recent = [one for one in self._failures.get(key, ()) if one > now - WINDOW]
            if len(recent) < FAILURES:
                return 0
            return max(1, int((recent[-FAILURES] + WINDOW - now).total_seconds()))

    def failed(self, key: Key, *, now: datetime) -> None:
        """Count a failed login."""
        with self._lock:
            recent = [one for one in self._failures.pop(key, ()) if one > now - WINDOW]
            self._failures[key] = [*recent[-FAILURES:], now]
            while len(self._failures) > _REMEMBERED:
                self._failures.popitem(last=False)

    def succeeded(self, key: Key) -> None:
        """Forget the failures of ``key``."""
        with self._lock:
            self._failures.pop(key, None)
