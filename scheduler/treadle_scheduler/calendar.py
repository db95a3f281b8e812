"""What a DAG's schedule calls for: the one way from a document to a time.

Called by the ``create_runs`` duty and by the DAG processor when it stores a new or changed schedule. Pure, but for
custom timetables, which a process of their own evaluates (``custom_timetables``).
"""

from __future__ import annotations

from datetime import datetime
from typing import cast

from treadle.document import DagDocument
from treadle.timetables.base import Catchup, DagRunInfo, DataInterval, TimeRestriction
from treadle.timetables.factory import from_document
from treadle.timetables.planning import Plan, Situation, plan


def restriction_of(document: DagDocument) -> TimeRestriction:
    """Return what the DAG allows its timetable."""
    return TimeRestriction(
        earliest=_moment(document.start_date),
        latest=_moment(document.end_date),
        catchup=cast("Catchup", document.catchup),
    )


def next_plan(document: DagDocument, at: Situation, *, cron_style: str) -> Plan:
    """Return what is to be done about the schedule of ``document``."""
    return plan(from_document(document.schedule, default_style=cron_style), restriction_of(document), at)


def next_run(document: DagDocument, *, last: DataInterval | None, now: datetime, cron_style: str) -> DagRunInfo | None:
    """Return the run that follows the automated run over ``last``, due or yet to come; None if there is none.

    A custom timetable is not asked here: the scheduler looks at it at once.
    """
    if document.schedule.kind == "custom":
        return DagRunInfo.exact(now)
    found = next_plan(document, Situation(now, last), cron_style=cron_style)
    return found.due or found.following


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
