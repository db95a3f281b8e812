"""Windows: which shorter spans of time, or which named segments, make one longer one. Pure wall-clock arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import ClassVar, Final

from treadle.errors import InvalidArgumentError


class Direction(StrEnum):
    """Whether a window begins with the span that it is asked for, or ends with it."""

    FORWARD = "forward"
    BACKWARD = "backward"


@dataclass(frozen=True, slots=True)
class Window:
    """The spans of ``step`` within one of ``unit``. Base of ``HourWindow`` and so on.

    ``BACKWARD`` takes the span before the one that is named: of 2024-03, the days of February.
    """

    direction: Direction = Direction.FORWARD
    FORWARD: ClassVar[Direction] = Direction.FORWARD
    BACKWARD: ClassVar[Direction] = Direction.BACKWARD
    kind: ClassVar[str]
    unit: ClassVar[str]
    step: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "direction", Direction(self.direction))

    def times(self, begin: datetime) -> Iterator[datetime]:
        """Yield the start of each shorter span; ``begin`` is the start of the longer one."""
        if self.direction is Direction.BACKWARD:
            begin = start_of(self.unit, begin - timedelta(seconds=1))
        end = after(self.unit, begin)
        time = begin
        while time < end:
            yield time
            time = after(self.step, time)


class HourWindow(Window):
    """The 60 minutes of an hour."""

    kind, unit, step = "hour", "hour", "minute"


class DayWindow(Window):
    """The 24 hours of a day."""

    kind, unit, step = "day", "day", "hour"


class WeekWindow(Window):
    """The 7 days of a week."""

    kind, unit, step = "week", "week", "day"


class MonthWindow(Window):
    """The 28 to 31 days of a month."""

    kind, unit, step = "month", "month", "day"


class QuarterWindow(Window):
    """The 3 months of a quarter."""

    kind, unit, step = "quarter", "quarter", "month"


class YearWindow(Window):
    """The 12 months of a year."""

    kind, unit, step = "year", "year", "month"


@dataclass(frozen=True, slots=True)
class SegmentWindow:
    """Named keys, all of which make one: regions, say."""

    segments: Sequence[str]
    kind: ClassVar[str] = "segments"

    def __post_init__(self) -> None:
        if (
            isinstance(self.segments, str)
            or not self.segments
            or not all(isinstance(one, str) for one in self.segments)
        ):
            raise InvalidArgumentError("SegmentWindow", "segments", self.segments, "a list of keys")
        object.__setattr__(self, "segments", tuple(dict.fromkeys(self.segments)))


WINDOWS: Final[dict[str, type[Window]]] = {
    one.kind: one for one in (HourWindow, DayWindow, WeekWindow, MonthWindow, QuarterWindow, YearWindow)
}

_STEPS: Final = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}


def start_of(unit: str, time: datetime) -> datetime:
    """Return the start of the span of ``unit`` in which a wall-clock time lies."""
    hour = time.replace(minute=0, second=0, microsecond=0)
    if unit == "hour":
        return hour
    day = hour.replace(hour=0)
    if unit == "day":
        return day
    if unit == "week":
        return day - timedelta(days=day.weekday())
    months = _MONTHS[unit]
    return day.replace(day=1, month=(day.month - 1) // months * months + 1)


def after(unit: str, begin: datetime) -> datetime:
    """Return the start of the span of ``unit`` that follows the one which starts at ``begin``."""
    if unit == "week":
        return begin + timedelta(days=7)
    if unit in _STEPS:
        return begin + _STEPS[unit]
    months = begin.month - 1 + _MONTHS[unit]
    return begin.replace(year=begin.year + months // 12, month=months % 12 + 1)
