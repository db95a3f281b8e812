"""The leases of a host's attempts, as the host itself knows them.

The server takes an attempt for lost when its lease ends; another host may then run the task again. So a host that
hears nothing (its scheduler is stopped, or cut off) must end the attempt before that, on its own. It counts from when
it *asked* for the lease, since the server cannot have begun to count any earlier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from treadle_worker.event_loop import EventLoop

_MOST_OF_LEASE: Final = 1 / 8
"""The part of a lease that may be kept for ending the attempt's processes."""


class Leases:
    """When which attempt must end unless it is renewed; ``end`` is called once for each whose time has come."""

    def __init__(self, loop: EventLoop, lease_seconds: float, grace_seconds: float, end: Callable[[str], None]) -> None:
        self._loop = loop
        self._end = end
        self._asked: dict[str, float] = {}
        self._running: set[str] = set()
        self.grace_seconds = min(grace_seconds, lease_seconds * _MOST_OF_LEASE)
        self._usable_seconds = lease_seconds - self.grace_seconds
        self._look()

    def ask(self, attempt_id: str) -> None:
        """Count the first lease of an attempt from now, as its start is reported."""
        self._asked[attempt_id] = self._loop.now()

    def accept(self, attempt_id: str) -> bool:
        """Watch an attempt from now on; False if the answer to its start came too late for it to run at all."""
        if self._loop.now() >= self.end_of(attempt_id):
            return False
        self._running.add(attempt_id)
        return True

    def renew(self, attempt_id: str, asked_at: float) -> None:
        """Note that the lease that was asked for at ``asked_at`` (this host's clock) was granted."""
        if attempt_id in self._asked:
            self._asked[attempt_id] = max(self._asked[attempt_id], asked_at)

    def end_of(self, attempt_id: str) -> float:
        """Return when the attempt must be over unless its lease is renewed, on the machine's monotonic clock."""
        return self._asked[attempt_id] + self._usable_seconds

    def forget(self, attempt_id: str) -> None:
        """Forget an attempt that is over."""
        self._asked.pop(attempt_id, None)
        self._running.discard(attempt_id)

    def _look(self) -> None:
        now = self._loop.now()
        over = [one for one in self._running if now >= self.end_of(one)]
        for attempt_id in over:
            self._running.discard(attempt_id)
            self._end(attempt_id)
        soonest = min((self._asked[one] for one in self._running), default=now) + self._usable_seconds
        self._loop.later(soonest - now, self._look)
