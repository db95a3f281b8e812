"""A cron expression in a time zone: from wall time to instants, by named policies (design section 8).

Expressions with fixed hours follow the wall clock. A time that the clock skips fires at the first valid
instant after the gap (``gap="shift"``) or not at all (``"skip"``); a time that comes twice fires at its
first pass (``doubled="first"``), at its last, at both, or at none. Expressions whose hour is a wildcard follow
elapsed time: they fire in both passes of a doubled hour, and a gap has no such times. The first valid
instant may be that of another time of the same expression; it still fires once. So instants are strictly
increasing and unique (cases A2, A5, A62, G24).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from treadle.timetables.base import InvalidSchedule
from treadle.timetables.cron_expression import parse_cron
from treadle.timetables.zone_offsets import Segment, zone_offsets

GAP_POLICIES: Final = ("shift", "skip")
DOUBLED_POLICIES: Final = ("first", "last", "both", "none")

_SECOND = timedelta(seconds=1)
_FAR = timedelta(days=2)
"""Beyond any clock change's reach: a search may jump ahead only over spans longer than this."""
_FIRST_YEAR, _LAST_YEAR = 3, 9980


class WallClock:
    """The fire times of one expression in one zone. Instants are aware and in UTC."""

    def __init__(self, expression: str, timezone: str, gap: str = "shift", doubled: str = "first") -> None:
        """Raise :class:`InvalidSchedule` for a bad expression, zone or policy."""
        _check_policy("gap", gap, GAP_POLICIES)
        _check_policy("doubled", doubled, DOUBLED_POLICIES)
        self.cron = parse_cron(expression)
        self.offsets = zone_offsets(timezone)
        fixed = not self.cron.follows_elapsed_time
        self._shifts = fixed and gap == "shift"
        self._first_only = fixed and doubled in ("first", "none")
        self._last_only = fixed and doubled in ("last", "none")

    def after(self, instant: datetime) -> datetime | None:
        """Return the first fire time later than ``instant``, or None if the calendar ends before it."""
        return self._at_or_after(_naive(instant).replace(microsecond=0) + _SECOND)

    def at_or_after(self, instant: datetime) -> datetime | None:
        """Return the first fire time that is not before ``instant``."""
        plain = _naive(instant)
        whole = plain.replace(microsecond=0)
        return self._at_or_after(whole if whole == plain else whole + _SECOND)

    def before(self, instant: datetime) -> datetime | None:
        """Return the last fire time earlier than ``instant``, or None if the calendar begins after it."""
        return self._at_or_before(_naive(instant) - timedelta(microseconds=1))

    def at_or_before(self, instant: datetime) -> datetime | None:
        """Return the last fire time that is not after ``instant``."""
        return self._at_or_before(_naive(instant))

    def _at_or_after(self, cursor: datetime) -> datetime | None:
        while cursor.year < _LAST_YEAR:
            segment = self.offsets.segment_at(cursor)
            if cursor == segment.start and self._fires_after_gap(segment):
                return cursor.replace(tzinfo=UTC)
            low = max(cursor + segment.offset, self._first_wall(segment))
            wall = self.cron.at_or_after(low)
            if wall is None:
                return None
            if wall < self._end_wall(segment):
                return (wall - segment.offset).replace(tzinfo=UTC)
            # Nothing matches between low and wall, so time may be passed over, but never the end of a
            # segment that is near: what a second pass of the same wall times holds would be lost.
            far = segment.end - cursor > _FAR
            cursor = max(segment.end, wall - _FAR) if far else segment.end
        return None

    def _at_or_before(self, cursor: datetime) -> datetime | None:
        cursor = cursor.replace(microsecond=0)
        while cursor.year > _FIRST_YEAR:
            segment = self.offsets.segment_at(cursor)
            high = min(cursor + segment.offset, self._end_wall(segment) - _SECOND)
            wall = self.cron.at_or_before(high)
            if wall is None:
                return None
            if wall >= self._first_wall(segment):
                return (wall - segment.offset).replace(tzinfo=UTC)
            if self._fires_after_gap(segment):
                return segment.start.replace(tzinfo=UTC)
            far = cursor - segment.start > _FAR
            past = segment.start - _SECOND
            cursor = min(past, wall + _FAR) if far else past
        return None

    def _fires_after_gap(self, segment: Segment) -> bool:
        """Return True if a time that the clock skipped on entering ``segment`` is made up for at its
        start.
        """
        if not self._shifts or segment.offset <= segment.before:
            return False
        skipped = self.cron.at_or_after(segment.start + segment.before)
        return skipped is not None and skipped < segment.start + segment.offset

    def _first_wall(self, segment: Segment) -> datetime:
        """Return the first wall time of ``segment`` that is not a repetition to be passed over."""
        repeated_until = segment.before if self._first_only else segment.offset
        return segment.start + max(repeated_until, segment.offset)

    def _end_wall(self, segment: Segment) -> datetime:
        """Return the end, exclusive, of the wall times of ``segment`` that do not come again to be taken
        then.
        """
        repeated_from = segment.after if self._last_only else segment.offset
        return segment.end + min(repeated_from, segment.offset)


def _naive(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(tzinfo=None)


def _check_policy(name: str, found: str, known: tuple[str, ...]) -> None:
    if found not in known:
        raise InvalidSchedule(f"The policy {name}", found, f"is not known; expected one of {', '.join(known)}.")
