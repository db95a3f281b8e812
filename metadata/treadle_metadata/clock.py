"""The clock that everything reads time from, so that tests and the simulator can move it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Return the current instant, timezone-aware, in UTC."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the current instant."""
        return datetime.now(UTC)


class ManualClock:
    """A clock that stands still until it is moved, for tests."""

    def __init__(self, start: datetime) -> None:
        self._now = start

    def now(self) -> datetime:
        """Return the instant that the clock was last set to."""
        return self._now

    def advance(self, step: timedelta) -> None:
        """Move the clock forward by ``step``."""
        self._now += step

    def set(self, moment: datetime) -> None:
        """Set the clock to ``moment``."""
        self._now = moment
