"""The next run that a DAG's schedule calls for: the one way from a document to a time.

Called by the ``create_runs`` duty and by the DAG processor when it stores a new or changed schedule. Pure.
"""

from __future__ import annotations

from datetime import datetime

from treadle.document import DagDocument
from treadle.timetables.base import DagRunInfo, DataInterval, TimeRestriction
from treadle.timetables.factory import from_document


def next_run(document: DagDocument, *, last: DataInterval | None, now: datetime, cron_style: str) -> DagRunInfo | None:
    """Return the run that follows the automated run over ``last``, due or yet to come; None if there is none."""
    restriction = TimeRestriction(
        earliest=_moment(document.start_date), latest=_moment(document.end_date), catchup=document.catchup
    )
    timetable = from_document(document.schedule, default_style=cron_style)
    return timetable.next_dagrun_info(last_automated_data_interval=last, restriction=restriction, now=now)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
