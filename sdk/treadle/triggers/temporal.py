"""Triggers that wait for a point in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from treadle.moments import moment_of
from treadle.triggers.base import BaseTrigger, TaskSuccessEvent, TriggerEvent

_LONGEST_SLEEP: Final = 3600.0
"""Seconds: the wall clock may be set meanwhile, and the sleep follows another one."""


class DateTimeTrigger(BaseTrigger):
    """Waits until ``moment``, a datetime or ISO 8601 text (read as UTC without a zone); the event is the moment.

    With ``end_from_trigger`` the task succeeds then, without a worker.

    Raises:
        ValueError: ``moment`` is no point in time.
    """

    def __init__(self, moment: datetime | str, *, end_from_trigger: bool = False) -> None:
        found = moment_of(moment)
        if found is None:
            raise ValueError("a DateTimeTrigger needs a moment")
        self.moment = found.astimezone(UTC)
        self.end_from_trigger = end_from_trigger

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return path and arguments."""
        return (
            "treadle.triggers.temporal.DateTimeTrigger",
            {"moment": self.moment, "end_from_trigger": self.end_from_trigger},
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Sleep until the moment."""
        while (rest := (self.moment - datetime.now(UTC)).total_seconds()) > 0:
            await asyncio.sleep(min(rest, _LONGEST_SLEEP))
        yield TaskSuccessEvent() if self.end_from_trigger else TriggerEvent(self.moment)


class TimeDeltaTrigger(DateTimeTrigger):
    """Waits for ``delta`` (or so many seconds) from now on; made anew elsewhere, it waits for the same moment."""

    def __init__(self, delta: timedelta | float, *, end_from_trigger: bool = False) -> None:
        length = delta if isinstance(delta, timedelta) else timedelta(seconds=delta)
        super().__init__(datetime.now(UTC) + length, end_from_trigger=end_from_trigger)
