"""When runs are made: timetables from schedules, pure functions of the time that is given to them.

DAG files name the classes; the scheduler and the command line build them from a ``ScheduleDocument`` with
``treadle.timetables.factory.from_document``. Nothing here reads a clock or a database.

Names are looked up on first use (PEP 562): ``import treadle`` must not import croniter (design section 2).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.timetables.base import (
        DagRunInfo,
        DataInterval,
        InvalidSchedule,
        TimeRestriction,
        Timetable,
    )
    from treadle.timetables.cron import (
        CronDataIntervalTimetable,
        CronTriggerTimetable,
        MultipleCronTriggerTimetable,
    )
    from treadle.timetables.delta import DeltaDataIntervalTimetable, DeltaTriggerTimetable
    from treadle.timetables.events import EventsTimetable
    from treadle.timetables.simple import ContinuousTimetable, NullTimetable, OnceTimetable

__all__ = [
    "ContinuousTimetable",
    "CronDataIntervalTimetable",
    "CronTriggerTimetable",
    "DagRunInfo",
    "DataInterval",
    "DeltaDataIntervalTimetable",
    "DeltaTriggerTimetable",
    "EventsTimetable",
    "InvalidSchedule",
    "MultipleCronTriggerTimetable",
    "NullTimetable",
    "OnceTimetable",
    "TimeRestriction",
    "Timetable",
]

_HOMES = {
    "DagRunInfo": "base",
    "DataInterval": "base",
    "InvalidSchedule": "base",
    "TimeRestriction": "base",
    "Timetable": "base",
    "CronDataIntervalTimetable": "cron",
    "CronTriggerTimetable": "cron",
    "MultipleCronTriggerTimetable": "cron",
    "DeltaDataIntervalTimetable": "delta",
    "DeltaTriggerTimetable": "delta",
    "EventsTimetable": "events",
    "ContinuousTimetable": "simple",
    "NullTimetable": "simple",
    "OnceTimetable": "simple",
}


def __getattr__(name: str) -> Any:
    """Import the module that defines ``name``."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
