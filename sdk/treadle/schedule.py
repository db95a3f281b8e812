"""A DAG's ``schedule`` argument as a document: strings, presets, spans of time, timetables and None.

Expressions are not parsed here: the DAG processor does that, where croniter is loaded (``treadle.timetables``).
"""

from __future__ import annotations

import importlib
from datetime import timedelta
from typing import Any, Final

from treadle.document import ScheduleDocument
from treadle.wording import did_you_mean, span_words

PRESETS: Final = (
    "@annually",
    "@continuous",
    "@daily",
    "@hourly",
    "@midnight",
    "@monthly",
    "@once",
    "@quarterly",
    "@weekly",
    "@yearly",
)

_STYLE = "default"
"""A plain string or span of time is read as the server is set (``cron_style``)."""


def schedule_document(schedule: Any, timezone: str) -> ScheduleDocument:
    """Return the document of ``schedule``; strings and relativedeltas are read in ``timezone``.

    Raises:
        ValueError: it cannot be a schedule; says what was expected.
    """
    if schedule is None:
        return ScheduleDocument()
    if isinstance(schedule, str):
        return _from_text(schedule.strip(), timezone)
    if isinstance(schedule, timedelta):
        if schedule <= timedelta(0):
            raise ValueError("a timedelta above zero")
        return ScheduleDocument(
            kind="delta", seconds=schedule.total_seconds(), style=_STYLE, summary=f"every {span_words(schedule)}"
        )
    if hasattr(schedule, "condition") or isinstance(schedule, (list, tuple, set, frozenset)):
        # Loaded on need: most DAGs are scheduled by time alone.
        return importlib.import_module("treadle.asset_schedules").assets_document(schedule)  # type: ignore[no-any-return]
    if hasattr(schedule, "to_document"):
        document = schedule.to_document()
        if not isinstance(document, ScheduleDocument):
            raise ValueError(f"a timetable whose to_document() gives a ScheduleDocument, not {type(document).__name__}")
        return document
    if type(schedule).__name__ == "relativedelta":
        # Loaded on need: calendar steps are rare, and their module reads time zones.
        step = importlib.import_module("treadle.timetables.calendar_step").CalendarStep.of(schedule)
        return ScheduleDocument(
            kind="delta", relative=step.parts, timezone=timezone, style=_STYLE, summary=f"every {step.words}"
        )
    raise ValueError(
        "a cron expression, a preset such as '@daily', a timedelta, a relativedelta, a timetable, assets or None"
    )


def _from_text(text: str, timezone: str) -> ScheduleDocument:
    if text in ("@once", "@continuous"):
        return ScheduleDocument(kind=text[1:], summary=text)
    if text.startswith("@") and text not in PRESETS:
        raise ValueError(f"a cron expression or one of {', '.join(PRESETS)}{did_you_mean(text, PRESETS)}")
    if not text or "\0" in text or len(text) > 250:
        raise ValueError("a cron expression such as '0 6 * * *', a preset such as '@daily' or None")
    return ScheduleDocument(kind="cron", expressions=(text,), timezone=timezone, style=_STYLE, summary=text)
