"""Timetables of cron expressions: a run at each fire time, or over each interval between two of them.

DAG files name these classes; ``factory`` builds them from documents. The names, parameters and defaults are
those of ``airflow.sdk``, plus the clock-change policies ``gap`` and ``doubled``. An expression, zone or
policy that makes no schedule is refused at once with :class:`InvalidSchedule`.
"""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

from treadle.document import ScheduleDocument
from treadle.timetables.base import InvalidSchedule
from treadle.timetables.periodic import (
    IntervalTimetable,
    RunImmediately,
    Ticks,
    TriggerTimetable,
    UnionTicks,
    seconds_or_bool,
)
from treadle.timetables.wall_clock import WallClock
from treadle.timetables.zone_offsets import zone_name


class MultipleCronTriggerTimetable(TriggerTimetable):
    """A run at each time at which any of several expressions fires; once if they fire together."""

    def __init__(
        self,
        *crons: str,
        timezone: str | tzinfo,
        interval: timedelta = timedelta(0),
        run_immediately: RunImmediately = False,
        gap: str = "shift",
        doubled: str = "first",
    ) -> None:
        if not crons:
            raise InvalidSchedule("The cron schedule", crons, "is empty; expected at least one expression.")
        if interval < timedelta(0):
            raise InvalidSchedule("The interval", str(interval), "is negative; expected zero or more.")
        self.crons = crons
        self.timezone = zone_name(timezone)
        self.interval = interval
        self.run_immediately = run_immediately
        self.gap, self.doubled = gap, doubled
        self._clocks = tuple(WallClock(cron, self.timezone, gap, doubled) for cron in crons)
        self._series: Ticks = self._clocks[0] if len(crons) == 1 else UnionTicks(self._clocks)

    @property
    def clocks(self) -> tuple[WallClock, ...]:
        """Return the parsed expressions."""
        return self._clocks

    @property
    def summary(self) -> str:
        """Return the expressions, their zone and what a reader may get wrong about them."""
        return summary_of(self._clocks, self.crons, self.timezone, self.gap, self.doubled)

    def to_document(self) -> ScheduleDocument:
        """Return the plain form."""
        return ScheduleDocument(
            kind="cron",
            expressions=self.crons,
            timezone=self.timezone,
            style="trigger",
            interval_seconds=self.interval.total_seconds(),
            gap=self.gap,
            doubled=self.doubled,
            summary=self.summary,
            run_immediately=seconds_or_bool(self.run_immediately),
        )

    def ticks(self, _anchor: datetime | None, /) -> Ticks:
        return self._series


class CronTriggerTimetable(MultipleCronTriggerTimetable):
    """A run at each time at which the expression fires; by default its data interval is empty."""

    def __init__(
        self,
        cron: str,
        *,
        timezone: str | tzinfo,
        interval: timedelta = timedelta(0),
        run_immediately: RunImmediately = False,
        gap: str = "shift",
        doubled: str = "first",
    ) -> None:
        super().__init__(
            cron,
            timezone=timezone,
            interval=interval,
            run_immediately=run_immediately,
            gap=gap,
            doubled=doubled,
        )


class CronDataIntervalTimetable(IntervalTimetable):
    """A run for each interval between two fire times, made at its end; the logical date is its start."""

    def __init__(self, cron: str, timezone: str | tzinfo, *, gap: str = "shift", doubled: str = "first") -> None:
        self.cron = cron
        self.timezone = zone_name(timezone)
        self.gap, self.doubled = gap, doubled
        self._clock = WallClock(cron, self.timezone, gap, doubled)

    @property
    def clocks(self) -> tuple[WallClock, ...]:
        """Return the parsed expression."""
        return (self._clock,)

    @property
    def summary(self) -> str:
        """Return the expression, its zone and what a reader may get wrong about it."""
        text = summary_of(self.clocks, (self.cron,), self.timezone, self.gap, self.doubled)
        return f"{text}; each run covers the interval that ends at the fire time"

    def to_document(self) -> ScheduleDocument:
        """Return the plain form."""
        return ScheduleDocument(
            kind="cron",
            expressions=(self.cron,),
            timezone=self.timezone,
            style="interval",
            gap=self.gap,
            doubled=self.doubled,
            summary=self.summary,
        )

    def ticks(self, _anchor: datetime | None, /) -> Ticks:
        return self._clock


def summary_of(clocks: tuple[WallClock, ...], crons: tuple[str, ...], timezone: str, gap: str, doubled: str) -> str:
    """Return the expressions in words: the text, the zone, the policies that differ from the default, the
    notes.
    """
    parts = [f"{' or '.join(crons)} ({timezone})"]
    if gap != "shift":
        parts.append("times that the clock skips are left out")
    if doubled != "first":
        passes = {"last": "fire at their last pass", "both": "fire at both passes", "none": "are left out"}
        parts.append(f"times that come twice {passes[doubled]}")
    parts += dict.fromkeys(note for clock in clocks for note in clock.cron.notes)
    return "; ".join(parts)
