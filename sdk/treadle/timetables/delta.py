"""Timetables of a fixed step: a timedelta, which counts elapsed time, or a relativedelta, which follows the
calendar.

Ticks are counted from the start date, or without one from the last run, else from now. The n-th tick is the
anchor plus n steps, never the sum of rounded steps: a monthly step from 31 January gives 28 February and
then 31 March.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from treadle.document import ScheduleDocument
from treadle.timetables.base import DataInterval, InvalidSchedule
from treadle.timetables.calendar_step import CalendarStep, CalendarTicks
from treadle.timetables.periodic import (
    IntervalTimetable,
    RunImmediately,
    Ticks,
    TriggerTimetable,
    seconds_or_bool,
)
from treadle.timetables.zone_offsets import zone_name
from treadle.wording import span_words

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANT = timedelta(microseconds=1)

Delta = Any
"""A timedelta or a dateutil relativedelta, told by its attributes: the SDK does not import dateutil."""


class DeltaTicks:
    """The instants that lie a whole number of steps from the anchor, on both sides of it."""

    def __init__(self, anchor: datetime, step: timedelta) -> None:
        self._anchor, self._step = anchor.astimezone(UTC), step

    def after(self, instant: datetime) -> datetime:
        """Return the first tick later than ``instant``."""
        return self.at_or_before(instant) + self._step

    def at_or_after(self, instant: datetime) -> datetime:
        """Return the first tick that is not before ``instant``."""
        return self.after(instant - _INSTANT)

    def before(self, instant: datetime) -> datetime:
        """Return the last tick earlier than ``instant``."""
        return self.at_or_before(instant - _INSTANT)

    def at_or_before(self, instant: datetime) -> datetime:
        """Return the last tick that is not after ``instant``."""
        return self._anchor + (instant - self._anchor) // self._step * self._step


class _Step:
    """What the two delta timetables share: the step, its zone, and its ticks."""

    def __init__(self, delta: Delta, timezone: str | tzinfo) -> None:
        self.delta = delta
        self.timezone = zone_name(timezone)
        self._calendar: CalendarStep | None = None
        if not isinstance(delta, timedelta):
            self._calendar = CalendarStep.of(delta)
        elif delta <= timedelta(0):
            raise InvalidSchedule("The schedule", str(delta), "does not move forward; expected more than zero.")

    @property
    def words(self) -> str:
        """Return the step in words."""
        if self._calendar is None:
            return f"every {span_words(self.delta)}"
        return f"every {self._calendar.words} ({self.timezone})"

    def ticks(self, anchor: datetime | None) -> Ticks:
        """Return the ticks counted from ``anchor``, else from the epoch."""
        if self._calendar is None:
            return DeltaTicks(anchor or _EPOCH, self.delta)
        return CalendarTicks(anchor or _EPOCH, self._calendar, self.timezone)

    def document_fields(self) -> dict[str, Any]:
        """Return the fields of a document that carry the step."""
        if self._calendar is None:
            return {"seconds": self.delta.total_seconds()}
        return {"relative": self._calendar.parts, "timezone": self.timezone}


class DeltaTriggerTimetable(TriggerTimetable):
    """A run at the start date and at each step from it; by default its data interval is empty."""

    def __init__(
        self,
        delta: Delta,
        *,
        interval: timedelta = timedelta(0),
        timezone: str | tzinfo = "UTC",
        run_immediately: RunImmediately = False,
    ) -> None:
        if interval < timedelta(0):
            raise InvalidSchedule("The interval", str(interval), "is negative; expected zero or more.")
        self._step = _Step(delta, timezone)
        self.interval = interval
        self.run_immediately = run_immediately

    @property
    def summary(self) -> str:
        """Return the step in words."""
        return self._step.words

    def to_document(self) -> ScheduleDocument:
        """Return the plain form."""
        return ScheduleDocument(
            kind="delta",
            style="trigger",
            interval_seconds=self.interval.total_seconds(),
            summary=self.summary,
            run_immediately=seconds_or_bool(self.run_immediately),
            **self._step.document_fields(),
        )

    def ticks(self, anchor: datetime | None, /) -> Ticks:
        return self._step.ticks(anchor)


class DeltaDataIntervalTimetable(IntervalTimetable):
    """A run for each step of time, made when the step has passed; the logical date is its start."""

    def __init__(self, delta: Delta, *, timezone: str | tzinfo = "UTC") -> None:
        self._step = _Step(delta, timezone)

    @property
    def summary(self) -> str:
        """Return the step in words."""
        return f"{self._step.words}; each run covers the interval that ends when it is made"

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        """Return the interval of one step that ends at ``run_after``."""
        start = self._step.ticks(run_after).before(run_after)
        return DataInterval(start or run_after, run_after)

    def to_document(self) -> ScheduleDocument:
        """Return the plain form."""
        fields = self._step.document_fields()
        return ScheduleDocument(kind="delta", style="interval", summary=self.summary, **fields)

    def ticks(self, anchor: datetime | None, /) -> Ticks:
        return self._step.ticks(anchor)
