"""Runs from a series of ticks: at each tick, or over each interval between two ticks.

The cron and the delta timetables give the ticks; what catchup, start date, end date and the last run make
of them is decided here, once for both (airflow-surface 1.7 and 4.5; cases A8 to A11).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Protocol

from treadle.timetables.base import DagRunInfo, DataInterval, TimeRestriction, Timetable

RunImmediately = bool | timedelta
"""What becomes of the latest past tick of a DAG that has no start date and has not run: True takes it, a
timedelta if it is at most that old, False if it is at most 10 % of the gap to the next one, or 5 minutes,
old.
"""


class Ticks(Protocol):
    """A strictly increasing series of instants, aware and in UTC; None where it has no more."""

    def after(self, instant: datetime) -> datetime | None:
        """Return the first tick later than ``instant``."""

    def at_or_after(self, instant: datetime) -> datetime | None:
        """Return the first tick that is not before ``instant``."""

    def before(self, instant: datetime) -> datetime | None:
        """Return the last tick earlier than ``instant``."""

    def at_or_before(self, instant: datetime) -> datetime | None:
        """Return the last tick that is not after ``instant``."""


class UnionTicks:
    """The ticks of several series together; a tick that two of them share comes once."""

    def __init__(self, parts: Iterable[Ticks]) -> None:
        self._parts = tuple(parts)

    def after(self, instant: datetime) -> datetime | None:
        """Return the first tick later than ``instant``."""
        return _least(part.after(instant) for part in self._parts)

    def at_or_after(self, instant: datetime) -> datetime | None:
        """Return the first tick that is not before ``instant``."""
        return _least(part.at_or_after(instant) for part in self._parts)

    def before(self, instant: datetime) -> datetime | None:
        """Return the last tick earlier than ``instant``."""
        return _greatest(part.before(instant) for part in self._parts)

    def at_or_before(self, instant: datetime) -> datetime | None:
        """Return the last tick that is not after ``instant``."""
        return _greatest(part.at_or_before(instant) for part in self._parts)


class PeriodicTimetable(Timetable):
    """What the trigger and the interval timetables share: where their ticks come from."""

    @abstractmethod
    def ticks(self, anchor: datetime | None, /) -> Ticks:
        """Return the ticks. A series without a clock of its own is counted from ``anchor``."""


class TriggerTimetable(PeriodicTimetable):
    """A run at each tick. Its interval is ``interval`` long and ends at the tick."""

    interval: timedelta
    run_immediately: RunImmediately

    def next_dagrun_info(
        self,
        *,
        last_automated_data_interval: DataInterval | None,
        restriction: TimeRestriction,
        now: datetime,
    ) -> DagRunInfo | None:
        """Return the run at the tick that is due next."""
        last = last_automated_data_interval
        ticks = self.ticks(restriction.earliest or (last.end if last else now))
        least = self._least_tick(ticks, last, restriction.earliest, now)
        bound = restriction.resumes_at(now, last)
        resumed = _from(ticks, bound)
        if least is None or (bound is not None and resumed is None):
            # A series that has come to its end has nothing after the bound.
            return None
        latest = None if restriction.makes_up_all else ticks.at_or_before(now)
        tick = _greatest((least, resumed, latest))
        if tick is None or (restriction.latest is not None and tick > restriction.latest):
            return None
        return DagRunInfo(tick, DataInterval(tick - self.interval, tick), tick - self.interval)

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        """Return the interval that ends at ``run_after``."""
        return DataInterval(run_after - self.interval, run_after)

    def _least_tick(
        self, ticks: Ticks, last: DataInterval | None, earliest: datetime | None, now: datetime
    ) -> datetime | None:
        """Return the first tick that may be taken at all, missed or not."""
        following = None
        if last is not None:
            # A longer interval than that of the last run must not bring its logical date back.
            following = ticks.after(max(last.end, last.start + self.interval))
            if following is None:
                return None
        if earliest is None:
            return following or self._first_without_start(ticks, now)
        if following is not None and following >= earliest:
            return following
        started = ticks.at_or_after(earliest)
        return None if started is None else _greatest((following, started))

    def _first_without_start(self, ticks: Ticks, now: datetime) -> datetime | None:
        past, coming = ticks.at_or_before(now), ticks.after(now)
        if past is None or self.run_immediately is True:
            return past or coming
        recent = timedelta(minutes=5)
        if isinstance(self.run_immediately, timedelta):
            recent = self.run_immediately
        elif coming is not None:
            recent = max((coming - past) / 10, recent)
        return past if now - past <= recent else coming


class IntervalTimetable(PeriodicTimetable):
    """A run for each interval between two ticks, made when the interval has ended."""

    def next_dagrun_info(
        self,
        *,
        last_automated_data_interval: DataInterval | None,
        restriction: TimeRestriction,
        now: datetime,
    ) -> DagRunInfo | None:
        """Return the run of the interval that is due next."""
        last = last_automated_data_interval
        ticks = self.ticks(restriction.earliest or (last.end if last else None))
        start = self._start(ticks, last, restriction, now)
        if start is None or (restriction.latest is not None and start > restriction.latest):
            return None
        end = ticks.after(start)
        return None if end is None else DagRunInfo.interval(start, end)

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        """Return the latest interval that has ended at ``run_after``."""
        ticks = self.ticks(run_after)
        end = ticks.at_or_before(run_after)
        start = None if end is None else ticks.before(end)
        return DataInterval.exact(run_after) if start is None or end is None else DataInterval(start, end)

    def _start(
        self, ticks: Ticks, last: DataInterval | None, restriction: TimeRestriction, now: datetime
    ) -> datetime | None:
        following = None
        if last is not None:
            following = _aligned_start(ticks, last)
            if following is None:
                return None
        started = restriction.earliest
        if started is not None and (following is None or following < started):
            started = ticks.at_or_after(started)
        resumed = _ending(ticks, _from(ticks, restriction.resumes_at(now, last)))
        unbounded = following is None and started is None
        latest = None
        if unbounded or not restriction.makes_up_all:
            latest = _ending(ticks, ticks.at_or_before(now))
        return _greatest((following, started, resumed, latest))


def _aligned_start(ticks: Ticks, last: DataInterval) -> datetime | None:
    """Return the start of the interval that follows ``last``, on a tick even if the schedule was changed
    since.
    """
    start = ticks.at_or_before(last.end)
    return start if start is not None and start > last.start else ticks.after(max(last.start, last.end))


def _ending(ticks: Ticks, end: datetime | None) -> datetime | None:
    return None if end is None else ticks.before(end)


def _from(ticks: Ticks, bound: datetime | None) -> datetime | None:
    return None if bound is None else ticks.at_or_after(bound)


def _least(instants: Iterable[datetime | None]) -> datetime | None:
    return min((one for one in instants if one is not None), default=None)


def _greatest(instants: Iterable[datetime | None]) -> datetime | None:
    return max((one for one in instants if one is not None), default=None)


def seconds_or_bool(run_immediately: RunImmediately) -> bool | float:
    """Return the plain form of ``run_immediately`` for a document."""
    return run_immediately.total_seconds() if isinstance(run_immediately, timedelta) else run_immediately
