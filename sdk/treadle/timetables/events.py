"""Runs at an explicit list of moments, such as the days of releases or of a sports season."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from treadle.document import ScheduleDocument
from treadle.timetables.base import DataInterval, InvalidSchedule
from treadle.timetables.periodic import RunImmediately, Ticks, TriggerTimetable


class SeriesTicks:
    """The instants of a sorted series without repetitions."""

    def __init__(self, moments: Sequence[datetime]) -> None:
        self._moments = moments

    def after(self, instant: datetime) -> datetime | None:
        """Return the first moment later than ``instant``."""
        return self._at(bisect_right(self._moments, instant))

    def at_or_after(self, instant: datetime) -> datetime | None:
        """Return the first moment that is not before ``instant``."""
        return self._at(bisect_left(self._moments, instant))

    def before(self, instant: datetime) -> datetime | None:
        """Return the last moment earlier than ``instant``."""
        return self._at(bisect_left(self._moments, instant) - 1)

    def at_or_before(self, instant: datetime) -> datetime | None:
        """Return the last moment that is not after ``instant``."""
        return self._at(bisect_right(self._moments, instant) - 1)

    def _at(self, index: int) -> datetime | None:
        return self._moments[index] if 0 <= index < len(self._moments) else None


class EventsTimetable(TriggerTimetable):
    """A run at each of the given moments; its data interval is empty.

    With ``restrict_to_events`` a manual run takes the moment of the last event before it for its own.
    ``presorted`` is taken for compatibility: moments are always put in order, and each counts once.

    Raises:
        InvalidSchedule: there is no moment, or one of them has no time zone.
    """

    interval = timedelta(0)
    run_immediately: RunImmediately = False

    def __init__(
        self,
        event_dates: Iterable[datetime],
        restrict_to_events: bool = False,
        presorted: bool = False,
        description: str | None = None,
    ) -> None:
        moments = tuple(event_dates)
        if not moments:
            raise InvalidSchedule("The list of events", [], "is empty; expected at least one moment.")
        for one in moments:
            if not isinstance(one, datetime) or one.utcoffset() is None:
                advice = "Write datetime(..., tzinfo=UTC)."
                raise InvalidSchedule("The event", one, "is no moment: it has no time zone.", advice)
        self.event_dates = tuple(sorted({one.astimezone(UTC) for one in moments}))
        self.restrict_to_events = restrict_to_events
        self.presorted = presorted
        self.description = description or ""
        self._series = SeriesTicks(self.event_dates)

    @property
    def summary(self) -> str:
        """Return the description, or how many events there are and when."""
        if self.description:
            return self.description
        first, last = self.event_dates[0], self.event_dates[-1]
        if len(self.event_dates) == 1:
            return f"at {first:%Y-%m-%d %H:%M} UTC"
        return f"at {len(self.event_dates)} moments from {first:%Y-%m-%d} to {last:%Y-%m-%d}"

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        """Return the empty interval at ``run_after`` or, restricted to events, at the last event (else the first)."""
        if not self.restrict_to_events:
            return DataInterval.exact(run_after)
        return DataInterval.exact(self._series.at_or_before(run_after) or self.event_dates[0])

    def to_document(self) -> ScheduleDocument:
        """Return the plain form."""
        return ScheduleDocument(
            kind="events",
            moments=tuple(one.isoformat() for one in self.event_dates),
            restrict_to_events=self.restrict_to_events,
            summary=self.summary,
        )

    def ticks(self, _anchor: datetime | None, /) -> Ticks:
        return self._series
