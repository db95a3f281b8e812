"""A relativedelta as a schedule: months and days follow the calendar of a zone, hours follow elapsed time.

``delta`` uses it. The parts are plain integers, so that a document can carry them and servers need no
dateutil.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from treadle.timetables.base import InvalidSchedule
from treadle.timetables.zone_offsets import ZoneOffsets, zone_offsets

_CALENDAR: Final = ("years", "months", "days")
_ELAPSED: Final = ("hours", "minutes", "seconds", "microseconds")
_FIXED: Final = {
    "month": range(1, 13),
    "day": range(1, 32),
    "hour": range(24),
    "minute": range(60),
    "second": range(60),
    "microsecond": range(10**6),
}
"""The parts that set a field of the wall time, with the values they may have; a day past the month's end is
its last.
"""
_REFUSED: Final = ("year", "weekday", "leapdays")
_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class CalendarStep:
    """The parts of a relativedelta that are set, as (name, value) pairs in a fixed order."""

    parts: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, delta: Any) -> CalendarStep:
        """Read the parts off a relativedelta. Raises :class:`InvalidSchedule` if it cannot be a schedule."""
        if isinstance(delta, CalendarStep):
            return delta.checked()
        if not all(hasattr(delta, name) for name in (*_CALENDAR, *_ELAPSED)):
            raise InvalidSchedule("The schedule", delta, "is no timedelta and no relativedelta.")
        for name in _REFUSED:
            if getattr(delta, name, None):
                advice = "Use a cron expression."
                raise InvalidSchedule("The schedule", delta, f"sets {name}, which makes no series.", advice)
        parts = [(name, getattr(delta, name)) for name in (*_CALENDAR, *_ELAPSED) if getattr(delta, name)]
        fixed = [(name, getattr(delta, name, None)) for name in _FIXED]
        return cls((*parts, *((name, value) for name, value in fixed if value is not None))).checked()

    def checked(self) -> CalendarStep:
        """Return this step, or raise :class:`InvalidSchedule` if it is unknown or does not move forward."""
        for name, value in self.parts:
            known = name in (*_CALENDAR, *_ELAPSED) or value in _FIXED.get(name, ())
            if not known or int(value) != value:
                expected = "is not known, or not a whole number within its bounds."
                raise InvalidSchedule("The schedule's part", f"{name}={value}", expected)
        moving = [value for name, value in self.parts if name not in _FIXED]
        if not moving or min(moving) < 0:
            expected = "does not move forward; expected parts above zero."
            raise InvalidSchedule("The schedule", self.words or "of no parts", expected)
        return self

    @property
    def words(self) -> str:
        """Return the step in words, for example ``1 months at day=31``."""
        moving = ", ".join(f"{value} {name}" for name, value in self.parts if name not in _FIXED)
        fixed = ", ".join(f"{name}={value}" for name, value in self.parts if name in _FIXED)
        return f"{moving} at {fixed}" if fixed else moving

    def wall(self, anchor: datetime, count: int) -> datetime:
        """Return the naive ``anchor`` moved by the calendar parts of ``count`` steps."""
        parts = dict(self.parts)
        months = 12 * parts.get("years", 0) + parts.get("months", 0)
        month_index = anchor.year * 12 + parts.get("month", anchor.month) - 1 + count * months
        year, month = month_index // 12, month_index % 12 + 1
        day = min(parts.get("day", anchor.day), monthrange(year, month)[1])
        moved = anchor.replace(
            year=year,
            month=month,
            day=day,
            hour=parts.get("hour", anchor.hour),
            minute=parts.get("minute", anchor.minute),
            second=parts.get("second", anchor.second),
            microsecond=parts.get("microsecond", anchor.microsecond),
        )
        return moved + timedelta(days=count * parts.get("days", 0))

    @property
    def elapsed(self) -> timedelta:
        """Return the parts that follow elapsed time."""
        return timedelta(**{name: value for name, value in self.parts if name in _ELAPSED})

    @property
    def mean(self) -> timedelta:
        """Return about how long one step is."""
        parts = dict(self.parts)
        days = 365.2425 * parts.get("years", 0) + 30.436875 * parts.get("months", 0) + parts.get("days", 0)
        return timedelta(days=days) + self.elapsed


class CalendarTicks:
    """The instants that lie a whole number of calendar steps from the anchor, on both sides of it."""

    def __init__(self, anchor: datetime, step: CalendarStep, timezone: str) -> None:
        self._offsets: ZoneOffsets = zone_offsets(timezone)
        self._anchor = anchor.astimezone(UTC).replace(tzinfo=None)
        self._wall = self._anchor + self._offsets.offset_at(self._anchor)
        self._step, self._mean = step, step.mean

    def after(self, instant: datetime) -> datetime | None:
        """Return the first tick later than ``instant``."""
        wanted = instant.astimezone(UTC).replace(tzinfo=None)
        count = self._count_near(wanted)
        while self._tick(count) > wanted:
            count -= 1
        while self._tick(count) <= wanted:
            count += 1
        return self._tick(count).replace(tzinfo=UTC)

    def at_or_after(self, instant: datetime) -> datetime | None:
        """Return the first tick that is not before ``instant``."""
        return self.after(instant - _INSTANT)

    def before(self, instant: datetime) -> datetime | None:
        """Return the last tick earlier than ``instant``."""
        return self.at_or_before(instant - _INSTANT)

    def at_or_before(self, instant: datetime) -> datetime | None:
        """Return the last tick that is not after ``instant``."""
        wanted = instant.astimezone(UTC).replace(tzinfo=None)
        count = self._count_near(wanted)
        while self._tick(count) <= wanted:
            count += 1
        while self._tick(count) > wanted:
            count -= 1
        return self._tick(count).replace(tzinfo=UTC)

    def _count_near(self, instant: datetime) -> int:
        return (instant - self._anchor) // self._mean

    def _tick(self, count: int) -> datetime:
        wall = self._step.wall(self._wall, count)
        return self._offsets.instant_of(wall) + count * self._step.elapsed
