"""The timetable of DAGs that only assets schedule: the clock makes no run of them."""

from __future__ import annotations

from treadle.document import ScheduleDocument
from treadle.timetables.simple import NullTimetable


class AssetTriggeredTimetable(NullTimetable):
    """Never makes a run by time; the scheduler's ``create_asset_runs`` makes them as events come."""

    def __init__(self, document: ScheduleDocument) -> None:
        self._document = document

    @property
    def summary(self) -> str:
        """Return the assets in words."""
        return self._document.summary

    def to_document(self) -> ScheduleDocument:
        """Return the plain form."""
        return self._document
