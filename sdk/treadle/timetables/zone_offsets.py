"""The UTC offsets of a time zone as segments of time between clock changes.

``zoneinfo`` answers for one instant only; to search along a zone's time one has to know where its offset
changes. The changes of a year are found by probing and bisection once per zone and year, then remembered.
Instants here are naive UTC, wall times are naive local: plain arithmetic, no surprises from aware
comparison.
"""

from __future__ import annotations

import difflib
from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from treadle import moments
from treadle.timetables.base import InvalidSchedule

_PROBE = timedelta(hours=12)
_SECOND = timedelta(seconds=1)
_QUIET = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Segment:
    """A span of constant offset, ``start`` inclusive to ``end`` exclusive, and the offsets beyond its two
    ends.
    """

    start: datetime
    end: datetime
    offset: timedelta
    before: timedelta
    after: timedelta


class ZoneOffsets:
    """The segments of one zone."""

    def __init__(self, name: str) -> None:
        """Raise :class:`InvalidSchedule` if there is no such zone."""
        self.zone = _zone(name)
        self._changes: dict[int, list[datetime]] = {}
        self._segments: dict[int, tuple[list[datetime], list[Segment]]] = {}

    def segment_at(self, instant: datetime) -> Segment:
        """Return the segment that holds the naive UTC ``instant``.

        Long spans are cut about each New Year; such a cut has the same offset on both sides and lies days
        away from any change of the clock.
        """
        for year in (instant.year, instant.year - 1):
            starts, segments = self._segments.get(year) or self._build(year)
            at = bisect_right(starts, instant) - 1
            if at >= 0:
                return segments[at]
        raise AssertionError("a year's first cut lies at most weeks after New Year")

    def offset_at(self, instant: datetime) -> timedelta:
        """Return the offset at the naive UTC ``instant``."""
        found = instant.replace(tzinfo=UTC).astimezone(self.zone).utcoffset()
        return found or timedelta(0)

    def instant_of(self, wall: datetime) -> datetime:
        """Return the naive UTC instant of the naive ``wall`` time: its first pass, or the end of the gap it
        is in.
        """
        offset = wall.replace(tzinfo=self.zone).utcoffset() or timedelta(0)
        instant = wall - offset
        if instant + self.offset_at(instant) == wall:
            return instant
        return self.segment_at(instant).start

    def _build(self, year: int) -> tuple[list[datetime], list[Segment]]:
        first, last = self._cut(year), self._cut(year + 1)
        changes = [*self._changes_of(year), *self._changes_of(year + 1)]
        starts = [first, *(change for change in changes if first < change < last)]
        offsets = [self.offset_at(start) for start in starts]
        segments = [
            Segment(start, end, offset, before, after)
            for start, end, offset, before, after in zip(
                starts,
                [*starts[1:], last],
                offsets,
                [offsets[0], *offsets[:-1]],
                [*offsets[1:], offsets[-1]],
                strict=True,
            )
        ]
        self._segments[year] = starts, segments
        return starts, segments

    def _cut(self, year: int) -> datetime:
        """Return an instant about New Year with no change of the clock in the two days on either side."""
        near = [*self._changes_of(year - 1), *self._changes_of(year)]
        cut = datetime(year, 1, 1)  # noqa: DTZ001
        while any(abs(change - cut) <= _QUIET for change in near):
            cut += timedelta(days=1)
        return cut

    def _changes_of(self, year: int) -> list[datetime]:
        known = self._changes.get(year)
        if known is None:
            known = self._changes[year] = self._find_changes(year)
        return known

    def _find_changes(self, year: int) -> list[datetime]:
        changes = []
        low, end = datetime(year, 1, 1), datetime(year + 1, 1, 1)  # noqa: DTZ001
        offset = self.offset_at(low)
        while low < end:
            high = low + _PROBE
            following = self.offset_at(high)
            if following != offset:
                changes.append(self._bisect(low, high, offset))
            low, offset = high, following
        return changes

    def _bisect(self, low: datetime, high: datetime, offset: timedelta) -> datetime:
        while high - low > _SECOND:
            middle = low + (high - low) // 2
            middle = middle.replace(microsecond=0)
            if self.offset_at(middle) == offset:
                low = middle
            else:
                high = middle
        return high


@lru_cache(maxsize=1024)
def zone_offsets(name: str) -> ZoneOffsets:
    """Return the offsets of the zone, shared by all schedules in it."""
    return ZoneOffsets(name)


def zone_name(zone: str | tzinfo) -> str:
    """Return the IANA name of ``zone``. Raises :class:`InvalidSchedule` for a zone that has none."""
    if isinstance(zone, str):
        return zone
    try:
        return moments.zone_name(zone)
    except ValueError as error:
        raise InvalidSchedule("The time zone", str(zone), "has no IANA name.", "Use zoneinfo.ZoneInfo(...).") from error


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        near = difflib.get_close_matches(name, sorted(available_timezones()), n=1)
        advice = f"Did you mean {near[0]!r}?" if near else "Write an IANA name, such as 'Europe/Vienna' or 'UTC'."
        raise InvalidSchedule("The time zone", name, "is not known.", advice) from error
