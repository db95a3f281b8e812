"""The contract of timetables, and the plain values that go in and out.

A timetable is asked with the last automated run, the DAG's limits and the present instant, and answers with
the next run or None. It is pure and holds no state, so that any scheduler, after any crash, gets the same
answer.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from treadle.document import ScheduleDocument
from treadle.errors import InvalidSchedule

__all__ = [
    "Catchup",
    "DagRunInfo",
    "DataInterval",
    "InvalidSchedule",
    "TimeRestriction",
    "Timetable",
]

Catchup = bool | Literal["all", "last", "none"]
"""Which missed times become runs. ``True``/``"all"``: every one. ``False``/``"last"``: the latest only.
``"none"``: none that was missed, be it before the DAG was unpaused or while no scheduler looked (case A10).
"""


def catchup_words(catchup: bool | str) -> str:
    """Return the policy's name: ``all``, ``last`` or ``none``."""
    return {True: "all", False: "last"}.get(catchup, str(catchup)) if isinstance(catchup, bool) else catchup


@dataclass(frozen=True, slots=True)
class DataInterval:
    """The span of data that a run covers: ``start`` inclusive, ``end`` exclusive; both aware, in UTC."""

    start: datetime
    end: datetime

    @classmethod
    def exact(cls, at: datetime) -> DataInterval:
        """Return the empty interval at one instant."""
        return cls(at, at)


@dataclass(frozen=True, slots=True)
class DagRunInfo:
    """A run to be made: not before ``run_after``; ``logical_date`` is the start of its interval."""

    run_after: datetime
    data_interval: DataInterval
    logical_date: datetime = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.logical_date is None:
            object.__setattr__(self, "logical_date", self.data_interval.start)

    @classmethod
    def exact(cls, run_after: datetime) -> DagRunInfo:
        """Return the run at one instant, which covers no data."""
        return cls(run_after, DataInterval.exact(run_after), run_after)

    @classmethod
    def interval(cls, start: datetime, end: datetime) -> DagRunInfo:
        """Return the run of the interval, due at its end."""
        return cls(run_after=end, data_interval=DataInterval(start, end), logical_date=start)


@dataclass(frozen=True, slots=True)
class TimeRestriction:
    """What the DAG allows: its start date, its end date, and what becomes of missed times.

    ``not_before`` matters to ``catchup="none"`` only: times before it were missed and are not made up for. Without
    it, the present instant is taken.
    """

    earliest: datetime | None = None
    latest: datetime | None = None
    catchup: Catchup = False
    not_before: datetime | None = None

    @property
    def makes_up_all(self) -> bool:
        """Return True if every missed time becomes a run."""
        return self.catchup is True or self.catchup == "all"

    def resumes_at(self, now: datetime, last: DataInterval | None) -> datetime | None:
        """Return the instant before which "none" makes up for nothing, or None if that is not asked for.

        After a first run a missing ``not_before`` means no bound: a time that is due must not be taken for
        a missed one merely because the scheduler looked a moment later.
        """
        if self.catchup != "none":
            return None
        return self.not_before or (now if last is None else None)


class Timetable(ABC):
    """Says when the runs of a DAG are made. Implementations are immutable and may be shared between
    threads.

    A timetable of your own is a subclass in a module or a DAG file, or one installed under the entry point group
    ``treadle.timetables``. It has ``next_dagrun_info`` and ``infer_manual_data_interval`` and, if it takes arguments,
    ``serialize`` and ``deserialize``; if it has ``validate``, that may raise when its file is parsed. It is evaluated
    in a process without credentials, within a time limit.
    """

    description: str = ""
    """The schedule in words for people."""

    active_runs_limit: int | None = None
    """The most runs that may be active at once, whatever the DAG says; None for no limit of its own."""

    can_be_scheduled: bool = True
    """False if the timetable never makes a run by itself."""

    periodic: bool = True
    """True if runs repeat, so that a backfill over a span of time has a meaning."""

    @abstractmethod
    def next_dagrun_info(
        self,
        *,
        last_automated_data_interval: DataInterval | None,
        restriction: TimeRestriction,
        now: datetime,
    ) -> DagRunInfo | None:
        """Return the run that follows the last automated one, or None if there is none within the
        restriction.

        The answer may be due already or lie in the future. Its logical date is later than that of the last
        run. A timetable of your own may leave out ``now``, and need not look at ``restriction.catchup``: Treadle
        passes over times that the policy leaves out.
        """

    @abstractmethod
    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        """Return the interval that a manual run at ``run_after`` covers."""

    @property
    def summary(self) -> str:
        """Return the schedule in words for people, with its zone and its policies where they matter."""
        return self.description or type(self).__name__

    def serialize(self) -> dict[str, Any]:
        """Return the arguments of :meth:`deserialize`, as a dict that JSON can carry."""
        return {}

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> Timetable:
        """Return the timetable that gave ``data``."""
        return cls(**data)

    def to_document(self) -> ScheduleDocument:
        """Return the plain form, from which ``factory.from_document`` makes an equal timetable."""
        # Loaded on need: few schedules are custom, and to look for entry points takes time.
        document: ScheduleDocument = importlib.import_module("treadle.timetables.custom").document_of(self)
        return document
