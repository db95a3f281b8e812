"""A user's timetable made to keep the contract: policies applied, answers checked.

Used only where user code may run. Airflow's protocol knows no present instant and a yes-or-no catch-up; the policies
"last" and "none" are kept here by stepping over the times they leave out, so that a timetable need not know of them.
"""

from __future__ import annotations

import inspect
from datetime import datetime
from typing import Any, Final

from treadle.document import ScheduleDocument
from treadle.errors import InvalidSchedule
from treadle.timetables.base import DagRunInfo, DataInterval, TimeRestriction, Timetable

_STEPS: Final = 1_000_000
"""Times passed over in one answer, as far as the time limit allows; a timetable that needs more goes nowhere."""


class AdaptedTimetable(Timetable):
    """Wraps the timetable of a user's class."""

    def __init__(self, timetable: Any) -> None:
        self._own = timetable
        self._takes_now = _takes_now(timetable.next_dagrun_info)
        self.active_runs_limit = getattr(timetable, "active_runs_limit", None)
        self.periodic = bool(getattr(timetable, "periodic", True))
        self.description = str(getattr(timetable, "summary", "") or type(timetable).__name__)

    def next_dagrun_info(
        self,
        *,
        last_automated_data_interval: DataInterval | None,
        restriction: TimeRestriction,
        now: datetime,
    ) -> DagRunInfo | None:
        """Return the next run within the restriction. Raises :class:`InvalidSchedule` for an answer that is none."""
        last, coming = last_automated_data_interval, None
        for _ in range(_STEPS):
            info, coming = coming or self._ask(last, restriction, now), None
            if info is None or (restriction.latest is not None and info.logical_date > restriction.latest):
                return None
            if not _is_passed_over(info, restriction, now):
                if restriction.makes_up_all or info.run_after > now:
                    return info
                coming = self._ask(info.data_interval, restriction, now)
                if coming is None or coming.run_after > now:
                    return info
            last = info.data_interval
        raise InvalidSchedule("The timetable", self.description, f"has more than {_STEPS} times that are passed over.")

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        """Return the interval of a manual run."""
        return _interval(self._own.infer_manual_data_interval(run_after=run_after))

    def to_document(self) -> ScheduleDocument:
        """Return the plain form of the wrapped timetable."""
        document: ScheduleDocument = self._own.to_document()
        return document

    def _ask(self, last: DataInterval | None, restriction: TimeRestriction, now: datetime) -> DagRunInfo | None:
        given: dict[str, Any] = {
            "last_automated_data_interval": last,
            "restriction": TimeRestriction(restriction.earliest, restriction.latest, restriction.makes_up_all),
        }
        found = self._own.next_dagrun_info(**given, **({"now": now} if self._takes_now else {}))
        return None if found is None else _checked(found, last)


def _is_passed_over(info: DagRunInfo, restriction: TimeRestriction, now: datetime) -> bool:
    """Return True for a time before the start date, and for one that the policy "none" takes for missed."""
    if restriction.earliest is not None and info.logical_date < restriction.earliest:
        return True
    return restriction.catchup == "none" and info.run_after < (restriction.not_before or now)


def _takes_now(method: Any) -> bool:
    parameters = inspect.signature(method).parameters.values()
    return any(one.name == "now" or one.kind is one.VAR_KEYWORD for one in parameters)


def _checked(found: Any, last: DataInterval | None) -> DagRunInfo:
    """Return the answer as a run of ours. Raises :class:`InvalidSchedule` if it is none or does not move forward."""
    if not hasattr(found, "run_after") or not hasattr(found, "data_interval"):
        raise InvalidSchedule("next_dagrun_info() gave", found, "; expected a DagRunInfo or None.")
    info = DagRunInfo(_moment(found.run_after, "run_after"), _interval(found.data_interval))
    if last is not None and info.logical_date <= last.start:
        expected = f"is not later than the last one, {last.start.isoformat()}."
        raise InvalidSchedule("The logical date", info.logical_date.isoformat(), expected)
    return info


def _interval(found: Any) -> DataInterval:
    start, end = _moment(getattr(found, "start", None), "start"), _moment(getattr(found, "end", None), "end")
    if end < start:
        raise InvalidSchedule(
            "The data interval's end", end.isoformat(), f"comes before its start {start.isoformat()}."
        )
    return DataInterval(start, end)


def _moment(found: Any, name: str) -> datetime:
    if not isinstance(found, datetime):
        raise InvalidSchedule(f"The timetable's {name}", found, "is no datetime.")
    if found.utcoffset() is None:
        advice = "Write datetime(..., tzinfo=UTC)."
        raise InvalidSchedule(f"The timetable's {name}", found.isoformat(), "has no time zone.", advice)
    return found
