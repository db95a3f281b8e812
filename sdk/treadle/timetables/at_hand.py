"""The timetable of a DAG object, where user code runs: task children, ``dag.test()``, commands that read a DAG file.

Servers build timetables from documents (``factory``); here one of the user's own is at hand and is used as it is.
"""

from __future__ import annotations

from typing import Any

from treadle.schedule import schedule_document
from treadle.timetables.adapted import AdaptedTimetable
from treadle.timetables.base import Timetable
from treadle.timetables.factory import from_document


def timetable_of(schedule: Any, timezone: str, default_style: str = "trigger") -> Timetable:
    """Return the timetable of a DAG's ``schedule``. Raises :class:`InvalidSchedule` or ValueError if it is none."""
    document = schedule_document(schedule, timezone)
    return AdaptedTimetable(schedule) if document.kind == "custom" else from_document(document, default_style)
