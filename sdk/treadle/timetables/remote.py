"""A custom timetable as servers see it: its questions go to a process that may run user code.

The server installs the way to ask with :func:`install`; where none is installed, a question is an error that says so.
No user code is ever loaded here. What comes back is checked: a user's timetable can be wrong in every way.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from treadle.document import ScheduleDocument
from treadle.errors import InvalidSchedule
from treadle.timetables.base import DagRunInfo, DataInterval, TimeRestriction, Timetable
from treadle.timetables.custom import split

Json = Any


class Evaluator(Protocol):
    """Puts a question to the process of a custom timetable and waits for the answer."""

    def __call__(self, document: ScheduleDocument, question: Mapping[str, Json]) -> Json:
        """Return the answer. Raises :class:`InvalidSchedule` if the timetable raises, hangs or is not there."""


_installed: list[Evaluator] = []


def install(evaluator: Evaluator | None) -> None:
    """Let the custom timetables of this process be evaluated by ``evaluator``; None takes the last one away."""
    _installed[:] = [] if evaluator is None else [evaluator]


def ask(document: ScheduleDocument, question: Mapping[str, Json]) -> Json:
    """Put a question to the installed evaluator. Raises :class:`InvalidSchedule` if there is none, or it does."""
    if not _installed:
        expected = "is evaluated in a process of its own, which is not set up here."
        raise InvalidSchedule("The custom timetable", document.summary, expected)
    return _installed[0](document, question)


class RemoteTimetable(Timetable):
    """A custom timetable, asked from afar."""

    def __init__(self, document: ScheduleDocument) -> None:
        split(document.custom)
        self._document = document
        self.active_runs_limit = document.active_runs_limit
        self.periodic = document.periodic

    def next_dagrun_info(
        self,
        *,
        last_automated_data_interval: DataInterval | None,
        restriction: TimeRestriction,
        now: datetime,
    ) -> DagRunInfo | None:
        """Return what the timetable answers."""
        last = last_automated_data_interval
        at = {"now": text_of(now), "last": interval_json(last)}
        answer = self._ask({"ask": "next", "at": at, "restriction": restriction_json(restriction)})
        return None if answer is None else info_of(answer)

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        """Return what the timetable answers."""
        return interval_of(self._ask({"ask": "manual", "run_after": text_of(run_after)}))

    @property
    def summary(self) -> str:
        """Return what the timetable said when its file was parsed."""
        return self._document.summary

    def to_document(self) -> ScheduleDocument:
        """Return the plain form."""
        return self._document

    def _ask(self, question: Mapping[str, Json]) -> Json:
        return ask(self._document, question)


def text_of(moment: datetime | None) -> str | None:
    """Return a moment as text in UTC."""
    return None if moment is None else moment.astimezone(UTC).isoformat()


def moment_of(text: Json) -> datetime:
    """Return the moment that :func:`text_of` wrote. Raises :class:`InvalidSchedule` if it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise InvalidSchedule("The custom timetable's moment", text, "is no moment.") from error
    if moment.tzinfo is None:
        raise InvalidSchedule("The custom timetable's moment", text, "has no time zone.")
    return moment


def interval_json(interval: DataInterval | None) -> Json:
    """Return an interval as a pair of texts."""
    return None if interval is None else [text_of(interval.start), text_of(interval.end)]


def interval_of(plain: Json) -> DataInterval:
    """Return the interval that :func:`interval_json` wrote."""
    if not isinstance(plain, list) or len(plain) != 2:
        raise InvalidSchedule("The custom timetable's interval", plain, "is no pair of moments.")
    return DataInterval(moment_of(plain[0]), moment_of(plain[1]))


def info_json(info: DagRunInfo | None) -> Json:
    """Return a run as plain values."""
    return None if info is None else [text_of(info.run_after), interval_json(info.data_interval)]


def info_of(plain: Json) -> DagRunInfo:
    """Return the run that :func:`info_json` wrote."""
    if not isinstance(plain, list) or len(plain) != 2:
        raise InvalidSchedule("The custom timetable's answer", plain, "is no run.")
    return DagRunInfo(moment_of(plain[0]), interval_of(plain[1]))


def restriction_json(restriction: TimeRestriction) -> Json:
    """Return a restriction as plain values."""
    return {
        "earliest": text_of(restriction.earliest),
        "latest": text_of(restriction.latest),
        "catchup": restriction.catchup,
        "not_before": text_of(restriction.not_before),
    }


def restriction_of(plain: Mapping[str, Json]) -> TimeRestriction:
    """Return the restriction that :func:`restriction_json` wrote."""
    moments = {name: plain[name] and moment_of(plain[name]) for name in ("earliest", "latest", "not_before")}
    return TimeRestriction(catchup=plain["catchup"], **moments)
