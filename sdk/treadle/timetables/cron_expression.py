"""One cron expression on naive wall-clock time: which minutes (or seconds) of the calendar it names.

croniter reads the text, so that its syntax is the one that people know; the search for the next match is
done here, on days and times of day, in a few microseconds. No time zone is known here: ``wall_clock`` maps
wall time to instants.

Fields: minute, hour, day of the month, month, day of the week and, as an optional sixth, second. When both
day fields are restricted, a day matches if *either* does (POSIX; case G15), and the notes say so.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from croniter import CroniterError, croniter

from treadle.timetables.base import InvalidSchedule

PRESETS: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_GREGORIAN_CYCLE_YEARS = 400
"""The calendar repeats after 400 years: what does not fire within them never fires (cases G19, G21)."""
_LAST_YEAR = 9990
_DAY_NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LAST_WEEKDAY = re.compile(rf"^([0-7]|{'|'.join(_DAY_NAMES)})l$")
_RANDOM = re.compile(r"^[hr](\(|/|$)")
_FIELDS: Final = (
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of the month", "1 to 31 or L"),
    ("month", "1 to 12 or JAN to DEC"),
    ("day of the week", "0 to 7 or SUN to SAT"),
    ("second", "0 to 59"),
)
_UNREADABLE: Final = (CroniterError, ValueError, KeyError, TypeError, OverflowError)
_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)


class CronExpression:
    """A parsed expression. Immutable, but for its memory of the days of recently asked months."""

    def __init__(self, text: str) -> None:
        """Parse ``text``. Raises :class:`InvalidSchedule` if it is no expression, or one that can never
        fire.
        """
        self.text = text
        fields = _fields(text)
        expanded, nth, nearest = _parse(text, fields)
        self._minutes = _values(expanded[0], range(60))
        self._hours = _values(expanded[1], range(24))
        self._months = _values(expanded[3], range(1, 13))
        self._seconds = _values(expanded[5], range(60)) if len(fields) == 6 else (0,)
        self._any_day, self._any_weekday = expanded[2] == ["*"], expanded[4] == ["*"]
        self._days = frozenset(expanded[2])
        self._weekdays = frozenset(day for day in expanded[4] if day not in nth)
        self._nth_weekdays, self._nearest = nth, nearest
        self._month_days: dict[tuple[int, int], tuple[int, ...]] = {}
        self.follows_elapsed_time = fields[1].startswith("*") or len(self._hours) == 24
        """True for a wildcard hour: fires in both passes of a doubled hour (design section 8)."""
        self._day_texts = fields[2], fields[4]
        self._refuse_if_it_never_fires()

    @property
    def joins_days_with_or(self) -> bool:
        """Return True if both day fields are restricted, so that a day may match either."""
        return not self._any_day and not self._any_weekday

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what a reader of the expression may get wrong, as sentences."""
        if not self.joins_days_with_or:
            return ()
        day, weekday = self._day_texts
        note = f"fires on days whose day of the month is {day} or whose day of the week is {weekday}"
        return (note + _ordinal_advice(day, weekday),)

    def matches(self, wall: datetime) -> bool:
        """Return True if the naive ``wall`` time is one of the expression's."""
        return self.at_or_after(wall) == wall

    def at_or_after(self, wall: datetime) -> datetime | None:
        """Return the first match that is not before the naive ``wall``; None if the calendar ends before
        it.
        """
        if wall.microsecond:
            wall = wall.replace(microsecond=0) + _SECOND
        if wall.day in self._days_of(wall.year, wall.month):
            time = self._time_at_or_after(wall.hour, wall.minute, wall.second)
            if time is not None:
                return wall.replace(hour=time[0], minute=time[1], second=time[2])
        day = self._first_day_from(wall + _DAY)
        return day and day.replace(hour=self._hours[0], minute=self._minutes[0], second=self._seconds[0])

    def at_or_before(self, wall: datetime) -> datetime | None:
        """Return the last match that is not after the naive ``wall``; None if the calendar begins after
        it.
        """
        if wall.day in self._days_of(wall.year, wall.month):
            time = self._time_at_or_before(wall.hour, wall.minute, wall.second)
            if time is not None:
                return wall.replace(hour=time[0], minute=time[1], second=time[2], microsecond=0)
        day = self._last_day_until(wall - _DAY)
        return day and day.replace(hour=self._hours[-1], minute=self._minutes[-1], second=self._seconds[-1])

    def _refuse_if_it_never_fires(self) -> None:
        if self._first_day_from(datetime(2000, 1, 1)) is None:  # noqa: DTZ001
            raise InvalidSchedule(
                "The cron expression",
                self.text,
                "can never fire: no such day exists in any year.",
                "Check the day of the month against the month.",
            )

    def _first_day_from(self, start: datetime) -> datetime | None:
        year, month, day = start.year, start.month, start.day
        last = min(year + _GREGORIAN_CYCLE_YEARS, _LAST_YEAR)
        while year <= last:
            days = self._days_of(year, month)
            at = bisect_left(days, day)
            if at < len(days):
                return datetime(year, month, days[at])  # noqa: DTZ001
            year, month, day = (year, month + 1, 1) if month < 12 else (year + 1, 1, 1)
        return None

    def _last_day_until(self, end: datetime) -> datetime | None:
        year, month, day = end.year, end.month, end.day
        first = max(year - _GREGORIAN_CYCLE_YEARS, 1)
        while year >= first:
            days = self._days_of(year, month)
            at = bisect_right(days, day)
            if at:
                return datetime(year, month, days[at - 1])  # noqa: DTZ001
            year, month, day = (year, month - 1, 31) if month > 1 else (year - 1, 12, 31)
        return None

    def _days_of(self, year: int, month: int) -> tuple[int, ...]:
        known = self._month_days.get((year, month))
        if known is None:
            if len(self._month_days) > 500:
                self._month_days.clear()
            known = self._find_days(year, month) if month in self._months else ()
            self._month_days[year, month] = known
        return known

    def _find_days(self, year: int, month: int) -> tuple[int, ...]:
        first_weekday, length = monthrange(year, month)
        # monthrange counts from Monday, cron from Sunday.
        weekday_of_first = (first_weekday + 1) % 7
        by_day = self._by_day(weekday_of_first, length)
        by_weekday = self._by_weekday(weekday_of_first, length)
        if self._any_day:
            return tuple(sorted(by_weekday))
        return tuple(sorted(by_day if self._any_weekday else by_day | by_weekday))

    def _by_day(self, weekday_of_first: int, length: int) -> set[int]:
        if self._any_day:
            return set(range(1, length + 1))
        if self._nearest:
            return {_nearest_weekday(day, weekday_of_first, length) for day in self._nearest}
        days = {day for day in self._days if day != "l" and day <= length}
        return days | {length} if "l" in self._days else days

    def _by_weekday(self, weekday_of_first: int, length: int) -> set[int]:
        if self._any_weekday:
            return set(range(1, length + 1))
        days: set[int] = set()
        for weekday in self._weekdays | set(self._nth_weekdays):
            all_of_it = range(1 + (weekday - weekday_of_first) % 7, length + 1, 7)
            for nth in self._nth_weekdays.get(weekday, {"all"}):
                days.update(_pick(all_of_it, nth))
        return days

    def _time_at_or_after(self, hour: int, minute: int, second: int) -> tuple[int, int, int] | None:
        hours, minutes, seconds = self._hours, self._minutes, self._seconds
        at_hour = bisect_left(hours, hour)
        if at_hour == len(hours):
            return None
        if hours[at_hour] > hour:
            return hours[at_hour], minutes[0], seconds[0]
        at_minute = bisect_left(minutes, minute)
        if at_minute < len(minutes) and minutes[at_minute] == minute:
            at_second = bisect_left(seconds, second)
            if at_second < len(seconds):
                return hour, minute, seconds[at_second]
            at_minute += 1
        if at_minute < len(minutes):
            return hour, minutes[at_minute], seconds[0]
        return (hours[at_hour + 1], minutes[0], seconds[0]) if at_hour + 1 < len(hours) else None

    def _time_at_or_before(self, hour: int, minute: int, second: int) -> tuple[int, int, int] | None:
        hours, minutes, seconds = self._hours, self._minutes, self._seconds
        at_hour = bisect_right(hours, hour) - 1
        if at_hour < 0:
            return None
        if hours[at_hour] < hour:
            return hours[at_hour], minutes[-1], seconds[-1]
        at_minute = bisect_right(minutes, minute) - 1
        if at_minute >= 0 and minutes[at_minute] == minute:
            at_second = bisect_right(seconds, second) - 1
            if at_second >= 0:
                return hour, minute, seconds[at_second]
            at_minute -= 1
        if at_minute >= 0:
            return hour, minutes[at_minute], seconds[-1]
        return (hours[at_hour - 1], minutes[-1], seconds[-1]) if at_hour > 0 else None


@lru_cache(maxsize=4096)
def parse_cron(text: str) -> CronExpression:
    """Return the expression or preset ``text``, parsed once. Raises :class:`InvalidSchedule`."""
    return CronExpression(text)


def _fields(text: str) -> list[str]:
    plain = text.strip().lower()
    if plain.startswith("@"):
        if plain not in PRESETS:
            names = ", ".join(PRESETS)
            raise InvalidSchedule("The schedule", text, f"is no preset. The presets are {names}.")
        plain = PRESETS[plain]
    fields = plain.split()
    if len(fields) not in (5, 6):
        expected = f"has {len(fields)} fields; expected 5 (minute hour day month weekday) or 6 (... second)."
        raise InvalidSchedule("The cron expression", text, expected)
    if any(_RANDOM.match(part) for field in fields for part in field.split(",")):
        expected = "asks for a time chosen by chance (H or R), which would differ between schedulers."
        raise InvalidSchedule("The cron expression", text, expected, "Write the minute and the hour.")
    fields[4] = ",".join(_last_weekday(part) for part in fields[4].split(","))
    return fields


def _last_weekday(part: str) -> str:
    """Turn ``5l`` and ``fril`` (last Friday of the month; case G23) into croniter's ``l5``."""
    found = _LAST_WEEKDAY.match(part)
    if found is None:
        return part
    name = found[1]
    return f"l{int(name) % 7 if name.isdigit() else _DAY_NAMES.index(name)}"


def _parse(text: str, fields: list[str]) -> tuple[list[list[Any]], dict[int, set[Any]], set[int]]:
    try:
        parsed = _read(fields)
    except _UNREADABLE as error:
        expected = f"cannot be read: {'; '.join(_wrong_fields(fields)) or str(error).splitlines()[0]}."
        raise InvalidSchedule("The cron expression", text, expected) from error
    return parsed.expanded, parsed.nth_weekday_of_month, set(parsed.nearest_weekday)


def _read(fields: Sequence[str]) -> Any:
    return croniter(" ".join(fields), start_time=0)


def _wrong_fields(fields: Sequence[str]) -> list[str]:
    """Return a sentence for each field that cannot be read, whatever the others are."""
    found = []
    for place, (name, expected) in enumerate(_FIELDS[: len(fields)]):
        alone = ["*"] * len(fields)
        alone[place] = fields[place]
        try:
            _read(alone)
        except _UNREADABLE:
            found.append(f"the field of the {name} is {fields[place]!r:.60}, expected {expected}")
    return found


def _values(field: Sequence[Any], every: range) -> tuple[int, ...]:
    return tuple(every) if field == ["*"] else tuple(sorted(field))


def _pick(days: range, nth: Any) -> Sequence[int]:
    if nth == "all":
        return days
    if nth == "l":
        return days[-1:]
    return days[nth - 1 : nth]


def _nearest_weekday(day: int, weekday_of_first: int, length: int) -> int:
    """Return the Monday-to-Friday day nearest to ``day`` within its month (the ``15W`` syntax)."""
    day = min(day, length)
    weekday = (weekday_of_first + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day


def _ordinal_advice(day: str, weekday: str) -> str:
    """Offer ``FRI#1`` for ``1-7 * FRI``: people who write that mean "and" (case G15)."""
    weeks = {"1-7": 1, "8-14": 2, "15-21": 3, "22-28": 4}
    if day in weeks and re.fullmatch(r"[0-7]|[a-z]{3}", weekday):
        name = weekday.upper()
        return f"; for the {name} within these days only, write * as the day and {name}#{weeks[day]}"
    return ""
