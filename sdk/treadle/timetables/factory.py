"""Timetables from documents: the scheduler, the command line and the parse child's check come here.

A timetable is built once per document and remembered, so that a beat over ten thousand DAGs parses no cron
text.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from treadle.document import ScheduleDocument
from treadle.timetables.assets import AssetTriggeredTimetable
from treadle.timetables.base import InvalidSchedule, Timetable
from treadle.timetables.calendar_step import CalendarStep
from treadle.timetables.cron import (
    CronDataIntervalTimetable,
    CronTriggerTimetable,
    MultipleCronTriggerTimetable,
)
from treadle.timetables.delta import DeltaDataIntervalTimetable, DeltaTriggerTimetable
from treadle.timetables.events import EventsTimetable
from treadle.timetables.remote import RemoteTimetable
from treadle.timetables.simple import ContinuousTimetable, NullTimetable, OnceTimetable

STYLES: Final = ("trigger", "interval")


@lru_cache(maxsize=16384)
def from_document(document: ScheduleDocument, default_style: str = "trigger") -> Timetable:
    """Return the timetable that ``document`` describes.

    ``default_style`` is what the style ``default`` stands for, the server's setting. Raises
    :class:`InvalidSchedule` if the document describes no timetable.
    """
    build = _BUILDERS.get(document.kind)
    if build is None:
        raise InvalidSchedule("The schedule kind", document.kind, f"is not one of {', '.join(_BUILDERS)}.")
    style = default_style if document.style in ("", "default") else document.style
    if style not in STYLES:
        raise InvalidSchedule("The schedule style", style, f"is not one of {', '.join(STYLES)}.")
    return build(document, style)


def validate(document: ScheduleDocument) -> None:
    """Raise :class:`InvalidSchedule` if ``document`` describes no timetable, or one that can never fire."""
    from_document(document)


def _cron(document: ScheduleDocument, style: str) -> Timetable:
    crons = document.expressions
    policies = {"gap": document.gap, "doubled": document.doubled}
    if style == "interval":
        if len(crons) != 1:
            expected = f"has {len(crons)} expressions; an interval lies between the times of exactly one."
            raise InvalidSchedule("The cron schedule", crons, expected)
        return CronDataIntervalTimetable(crons[0], document.timezone, **policies)
    build = CronTriggerTimetable if len(crons) == 1 else MultipleCronTriggerTimetable
    return build(
        *crons,
        timezone=document.timezone,
        interval=timedelta(seconds=document.interval_seconds),
        run_immediately=_run_immediately(document),
        **policies,
    )


def _delta(document: ScheduleDocument, style: str) -> Timetable:
    step: timedelta | CalendarStep
    if document.relative:
        step = CalendarStep(document.relative).checked()
    elif document.seconds is not None:
        step = timedelta(seconds=document.seconds)
    else:
        raise InvalidSchedule("The delta schedule", document, "has no step.")
    if style == "interval":
        return DeltaDataIntervalTimetable(step, timezone=document.timezone)
    return DeltaTriggerTimetable(
        step,
        interval=timedelta(seconds=document.interval_seconds),
        timezone=document.timezone,
        run_immediately=_run_immediately(document),
    )


def _run_immediately(document: ScheduleDocument) -> bool | timedelta:
    given = document.run_immediately
    return given if isinstance(given, bool) else timedelta(seconds=given)


def _events(document: ScheduleDocument, _style: str) -> Timetable:
    try:
        moments = [datetime.fromisoformat(text) for text in document.moments]
    except ValueError as error:
        raise InvalidSchedule("The list of events", document.moments, "holds text that is no moment.") from error
    # The summary is the description where there is one, and is made anew where there is none.
    return EventsTimetable(moments, document.restrict_to_events, description=document.summary or None)


_BUILDERS: Final[dict[str, Callable[[ScheduleDocument, str], Timetable]]] = {
    "none": lambda _document, _style: NullTimetable(),
    "assets": lambda document, _style: AssetTriggeredTimetable(document),
    "once": lambda _document, _style: OnceTimetable(),
    "continuous": lambda _document, _style: ContinuousTimetable(),
    "cron": _cron,
    "delta": _delta,
    "events": _events,
    "custom": lambda document, _style: RemoteTimetable(document),
}
