"""What a schedule will do, before it does it: the next fires with both zones and what the clock does to them.

``treadle dags next-execution`` and the web pages ask here. The fires come from the very timetable that the
scheduler asks, so that the preview is the effect (case H11).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final
from zoneinfo import ZoneInfo

from treadle.document import DagDocument, ScheduleDocument
from treadle.timetables.adapted import AdaptedTimetable
from treadle.timetables.base import DagRunInfo, DataInterval, TimeRestriction, Timetable, catchup_words
from treadle.timetables.cron import CronDataIntervalTimetable, MultipleCronTriggerTimetable
from treadle.timetables.factory import from_document
from treadle.timetables.periodic import IntervalTimetable, TriggerTimetable
from treadle.timetables.zone_offsets import zone_offsets

_INSTANT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Fire:
    """One run to come: when it is due, in UTC and in two zones, and the data that it covers."""

    run_after: datetime
    local: datetime
    """``run_after`` in the schedule's zone."""
    viewer: datetime
    """``run_after`` in the viewer's zone."""
    data_interval: DataInterval
    logical_date: datetime
    is_dst: bool
    """True if the schedule's zone keeps daylight saving time then."""
    note: str = ""
    """What a change of the clock does to this fire; empty as a rule."""


def next_fires(
    document: ScheduleDocument,
    *,
    now: datetime,
    start: datetime | None = None,
    end: datetime | None = None,
    n: int = 10,
    earliest: datetime | None = None,
    viewer_timezone: str = "UTC",
    default_style: str = "trigger",
    timetable: Timetable | None = None,
) -> list[Fire]:
    """Return the ``n`` fires later than ``start`` (default: ``now``) until ``end``; fewer if there are fewer.

    ``earliest`` is the DAG's start date, ``timetable`` one of the user's own, which no document can make. Raises
    :class:`InvalidSchedule` for a document that describes no timetable and for an unknown viewer's zone.
    """
    timetable = timetable or from_document(document, default_style)
    viewer = zone_offsets(viewer_timezone).zone
    zone = zone_offsets(document.timezone).zone
    infos = islice(_infos(timetable, start or now, earliest), n)
    fires = (_fire(timetable, info, zone, viewer) for info in infos)
    return [fire for fire in fires if end is None or fire.run_after <= end]


_CATCHUP: Final = {
    "all": "each one becomes a run (catchup=True)",
    "last": "the latest one becomes a run (catchup=False)",
    "none": "none becomes a run (catchup='none')",
}
_OVERLAP: Final = {
    "wait": "waits until there is room (overlap='wait')",
    "skip": "is left out (overlap='skip')",
}


def policies(document: DagDocument, default_style: str = "trigger") -> list[str]:
    """Return what becomes of times that the plain series does not tell, as sentences (cases A8, A64, A65)."""
    schedule, timetable = document.schedule, None
    if schedule.kind != "custom":
        timetable = from_document(schedule, default_style)
    found = [f"Schedule: {timetable.summary if timetable else schedule.summary}."]
    if isinstance(timetable, CronDataIntervalTimetable | MultipleCronTriggerTimetable):
        found += _of_clock_changes(timetable)
    found.append(f"Missed times: {_CATCHUP[catchup_words(document.catchup)]}.")
    found.append(f"A time that comes while the DAG is at its run limit {_OVERLAP[document.overlap]}.")
    return found


def _of_clock_changes(timetable: CronDataIntervalTimetable | MultipleCronTriggerTimetable) -> list[str]:
    if all(clock.cron.follows_elapsed_time for clock in timetable.clocks):
        return ["Clock changes: it follows elapsed time; a doubled hour has its times twice, a skipped one none."]
    gap = {"shift": "fires at the first instant after it", "skip": "is left out"}[timetable.gap]
    twice = {"first": "its first pass", "last": "its last pass", "both": "both passes", "none": "neither pass"}
    return [
        f"Clock changes: a time that the clock skips {gap} (gap={timetable.gap!r}); "
        f"one that comes twice fires at {twice[timetable.doubled]} (doubled={timetable.doubled!r})."
    ]


def _infos(timetable: Timetable, begin: datetime, earliest: datetime | None) -> Iterator[DagRunInfo]:
    """Yield the runs after ``begin`` as the scheduler would make them one after another, in time."""
    restriction = TimeRestriction(earliest=earliest, catchup=True)
    last = _interval_until(timetable, begin, earliest)
    allowed = restriction
    if isinstance(timetable, AdaptedTimetable):
        # Nobody but itself knows which of its runs comes before this moment.
        allowed = TimeRestriction(earliest=earliest, catchup="none", not_before=begin + _INSTANT)
    while True:
        info = timetable.next_dagrun_info(last_automated_data_interval=last, restriction=allowed, now=begin)
        if info is None:
            return
        yield info
        allowed = restriction
        if not timetable.periodic:
            return
        last = info.data_interval


def _interval_until(timetable: Timetable, begin: datetime, earliest: datetime | None) -> DataInterval | None:
    """Return the interval of the run before ``begin``, as if there had been one; None if there is no such
    time.
    """
    if isinstance(timetable, TriggerTimetable):
        return timetable.infer_manual_data_interval(run_after=begin)
    if not isinstance(timetable, IntervalTimetable):
        return None
    ticks = timetable.ticks(earliest or begin)
    until = ticks.at_or_before(begin)
    since = None if until is None else ticks.before(until)
    return None if since is None or until is None else DataInterval(since, until)


def _fire(timetable: Timetable, info: DagRunInfo, zone: ZoneInfo, viewer: ZoneInfo) -> Fire:
    local = info.run_after.astimezone(zone)
    return Fire(
        run_after=info.run_after.astimezone(UTC),
        local=local,
        viewer=info.run_after.astimezone(viewer),
        data_interval=info.data_interval,
        logical_date=info.logical_date,
        is_dst=bool(local.dst()),
        note=_note(timetable, local),
    )


def _note(timetable: Timetable, local: datetime) -> str:
    if not isinstance(timetable, CronDataIntervalTimetable | MultipleCronTriggerTimetable):
        return ""
    wall = local.replace(tzinfo=None, fold=0)
    if not any(clock.cron.matches(wall) for clock in timetable.clocks):
        return "the clock skips the time asked for; fires at the first instant after the gap"
    if local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset() and _comes_twice(local):
        return f"this time comes twice; {'second' if local.fold else 'first'} pass"
    return ""


def _comes_twice(local: datetime) -> bool:
    """Return True for a doubled time: it is valid in both folds, which a time in a gap never is."""
    other = local.replace(fold=1 - local.fold)
    return other.astimezone(UTC).astimezone(local.tzinfo).replace(fold=0) == local.replace(fold=0)
