"""The timetables without a clock: never, once, and without pause."""

from __future__ import annotations

from datetime import datetime, timedelta

from treadle.document import ScheduleDocument
from treadle.timetables.base import DagRunInfo, DataInterval, TimeRestriction, Timetable

_INSTANT = timedelta(microseconds=1)


class _Exact(Timetable):
    """A timetable whose manual runs cover the instant at which they are made."""

    periodic = False
    kind: str

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        """Return the empty interval at ``run_after``."""
        return DataInterval.exact(run_after)

    def to_document(self) -> ScheduleDocument:
        """Return the plain form."""
        return ScheduleDocument(kind=self.kind, summary=self.summary)


class NullTimetable(_Exact):
    """Never makes a run: the DAG runs when someone triggers it."""

    kind = "none"
    can_be_scheduled = False

    def next_dagrun_info(self, **_: object) -> None:
        """Return None."""

    @property
    def summary(self) -> str:
        """Return the schedule in words."""
        return "only when triggered"


class OnceTimetable(_Exact):
    """Makes one run, at the start date or at once."""

    kind = "once"

    def next_dagrun_info(
        self,
        *,
        last_automated_data_interval: DataInterval | None,
        restriction: TimeRestriction,
        now: datetime,
    ) -> DagRunInfo | None:
        """Return the one run, unless it was made or the DAG has ended."""
        if last_automated_data_interval is not None:
            return None
        at = restriction.earliest or now
        if restriction.latest is not None and at > restriction.latest:
            return None
        return DagRunInfo.interval(at, at)

    @property
    def summary(self) -> str:
        """Return the schedule in words."""
        return "once"


class ContinuousTimetable(_Exact):
    """Makes a run as soon as the last one has ended; it covers the time since."""

    kind = "continuous"
    active_runs_limit = 1

    def next_dagrun_info(
        self,
        *,
        last_automated_data_interval: DataInterval | None,
        restriction: TimeRestriction,
        now: datetime,
    ) -> DagRunInfo | None:
        """Return a run from the end of the last one until now."""
        last = last_automated_data_interval
        start = restriction.earliest or now
        if last is not None:
            # Logical dates are unique: an empty interval is followed by one that starts an instant later.
            start = max(start, last.end, last.start + _INSTANT)
        end = max(start, now)
        if restriction.latest is not None and end > restriction.latest:
            return None
        return DagRunInfo.interval(start, end)

    @property
    def summary(self) -> str:
        """Return the schedule in words."""
        return "continuously, one run after another"
