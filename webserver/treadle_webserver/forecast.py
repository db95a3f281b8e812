"""What schedules will make: the runs to come of one DAG, or of many in the order of their times. Pure.

Asked by the pages. The times come from the timetables that the scheduler asks; a custom one is user code, which is not
asked here: of such a DAG only the next run is known, which the scheduler has worked out.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final

from treadle.document import ScheduleDocument, loads
from treadle.errors import TreadleError
from treadle.timetables.base import DataInterval, TimeRestriction
from treadle.timetables.factory import from_document

CUSTOM: Final = "custom"
_STEADY: Final = frozenset({"cron", "delta"})


@dataclass(frozen=True, slots=True)
class Planned:
    """A run to come."""

    run_after: datetime
    dag_id: str
    logical_date: datetime | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """The runs to come, in order, complete until ``known_until``; ``unknown``: DAGs of which only the next is known."""

    runs: list[Planned]
    known_until: datetime
    unknown: list[str]


def runs_to_come(row: Mapping[str, Any], *, until: datetime, cron_style: str) -> Iterator[Planned]:
    """Yield the runs of a DAG (a row of ``queries.ui.schedules``) from its next one on, as its timetable makes them."""
    first = row["next_run_at"]
    if first is None or first > until:
        return
    yield Planned(first, row["dag_id"], row["next_logical_date"])
    schedule = schedule_of(row)
    if schedule.kind not in _STEADY or row["next_interval_start"] is None:
        return
    timetable = from_document(schedule, cron_style)
    last = DataInterval(row["next_interval_start"], row["next_interval_end"])
    restriction = TimeRestriction(earliest=_moment(row["start_date"]), latest=_moment(row["end_date"]), catchup=True)
    while True:
        info = timetable.next_dagrun_info(last_automated_data_interval=last, restriction=restriction, now=first)
        if info is None or info.run_after > until:
            return
        yield Planned(info.run_after, row["dag_id"], info.logical_date)
        last = info.data_interval


def forecast(
    rows: Sequence[Mapping[str, Any]], *, until: datetime, cron_style: str, most: int, known_until: datetime
) -> Forecast:
    """Return the first ``most`` runs of these DAGs; ``known_until``: up to where the rows themselves are complete."""
    streams = [_guarded(row, until, cron_style) for row in rows]
    merged = heapq.merge(*streams, key=lambda one: one.run_after)
    runs = [one for one in islice(merged, most + 1) if one.run_after <= known_until]
    if len(runs) > most:
        known_until = runs.pop().run_after
    unknown = sorted(row["dag_id"] for row in rows if schedule_of(row).kind == CUSTOM)
    return Forecast(runs, known_until, unknown)


def _guarded(row: Mapping[str, Any], until: datetime, cron_style: str) -> Iterator[Planned]:
    """Yield the runs of a DAG as far as its schedule can be read; what is wrong with it stands on its own page."""
    try:
        yield from runs_to_come(row, until=until, cron_style=cron_style)
    except (TreadleError, ValueError):
        return


def schedule_of(row: Mapping[str, Any]) -> ScheduleDocument:
    """Return the schedule of a DAG (a row of ``queries.ui.schedules``)."""
    return loads({"dag_id": row["dag_id"], "schedule": row["schedule"] or {}}).schedule


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
