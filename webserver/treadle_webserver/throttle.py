"""Slows down guessing of passwords: after some failures a name at an address has to wait, and then the address itself.

Logins hash on purpose for long, so only a few may be under way at once: the others are told to come again. Kept in
memory, per web server process, bounded; a restart forgets it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

FAILURES: Final = 5
"""Failed logins of one name from one address within the window."""
FAILURES_OF_ADDRESS: Final = 50
AT_ONCE: Final = 4
WINDOW: Final = timedelta(seconds=60)
_REMEMBERED: Final = 10_000

_ANY_NAME: Final = "\0"
_Key = tuple[str, str]


class Throttle:
    """Counts failed logins; safe to use from several threads."""

    def __init__(self) -> None:
        self._failures: OrderedDict[_Key, list[datetime]] = OrderedDict()
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(AT_ONCE)

    @contextmanager
    def place(self) -> Iterator[bool]:
        """Hold a place for one login; yields False when all are taken."""
        held = self._places.acquire(blocking=False)
        try:
            yield held
        finally:
            if held:
                self._places.release()

    def wait_seconds(self, address: str, name: str, *, now: datetime) -> int:
        """Return how long a login has to wait before its next try; 0 when it may try now."""
        with self._lock:
            return max(
                self._wait((address, name), FAILURES, now), self._wait((address, _ANY_NAME), FAILURES_OF_ADDRESS, now)
            )

    def failed(self, address: str, name: str, *, now: datetime) -> None:
        """Count a failed login."""
        with self._lock:
            for key, most in (((address, name), FAILURES), ((address, _ANY_NAME), FAILURES_OF_ADDRESS)):
                self._failures[key] = [*self._failures.pop(key, [])[1 - most :], now]
            while len(self._failures) > _REMEMBERED:
                self._failures.popitem(last=False)

    def succeeded(self, address: str, name: str) -> None:
        """Forget the failures of a name at an address."""
        with self._lock:
            self._failures.pop((address, name), None)

    def _wait(self, key: _Key, most: int, now: datetime) -> int:
        recent = [one for one in self._failures.get(key, ()) if one > now - WINDOW]
        return 0 if len(recent) < most else max(1, int((recent[-most] + WINDOW - now).total_seconds()))
