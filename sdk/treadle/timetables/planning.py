"""What is to be done about a DAG's schedule at one moment: the run that is due, the one after it, the times left out.

Pure; the one place where catch-up, overlap and pauses meet the timetable. Called for built-in timetables in the
scheduler, and for custom ones in the process that evaluates them. No call depends on an earlier plan, so that any
scheduler, after any crash, makes the same one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Final

from treadle.timetables.base import DagRunInfo, DataInterval, TimeRestriction, Timetable

GRACE: Final = timedelta(minutes=5)
"""A time that nobody looked at for so long was missed: ``catchup="none"`` leaves it out."""

_ROWS: Final = 100
_COUNTED: Final = 1000


class MissedReason(StrEnum):
    """Why a time of a schedule became no run (case A65)."""

    LATE = "late"
    """Nobody looked in time, and the DAG's catch-up policy does not make up for it."""
    OVERLAP = "overlap"
    """The DAG was at its run limit."""
    PAUSED = "paused"
    """The DAG was paused, and its catch-up policy does not make up for it."""


@dataclass(frozen=True, slots=True)
class Missed:
    """Times of a schedule that became no run: one, or a long row of them from ``run_after`` to ``last_run_after``.

    ``slots`` is None where they were too many to be counted; ``last_run_after`` is then the latest time that was due,
    whether it was made or not.
    """

    run_after: datetime
    logical_date: datetime
    last_run_after: datetime
    slots: int | None
    reason: MissedReason


@dataclass(frozen=True, slots=True)
class Situation:
    """A DAG at one moment: the newest automated run's interval, and what its run limit and pauses did.

    ``resumed_at``: when it was created or last unpaused. ``held_since``: the time of the first run that waits for the
    run limit. ``skips``: the DAG is at its limit, and the times that come now are left out (``overlap="skip"``).
    """

    now: datetime
    last: DataInterval | None = None
    resumed_at: datetime | None = None
    held_since: datetime | None = None
    skips: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """``due`` is the run to make now, ``following`` the next one to come, ``last`` the interval to count on from."""

    due: DagRunInfo | None = None
    following: DagRunInfo | None = None
    last: DataInterval | None = None
    missed: tuple[Missed, ...] = ()


def plan(timetable: Timetable, restriction: TimeRestriction, at: Situation) -> Plan:
    """Return what is to be done at ``at.now``.

    What does not come again, or comes without pause, is never left out for an overlap: it waits.
    """
    if at.skips and not timetable.periodic:
        at = replace(at, skips=False)
    return _on_time(timetable, restriction, at) or _by_policy(timetable, restriction, at)


def _on_time(timetable: Timetable, restriction: TimeRestriction, at: Situation) -> Plan | None:
    """Return the plan of a DAG that has missed nothing, which is the same for all policies; None if it has."""
    if at.last is None or at.skips:
        return None
    every = restriction if restriction.makes_up_all else replace(restriction, catchup=True)
    first = _next(timetable, at.last, every, at.now)
    if first is not None and restriction.catchup == "none" and first.run_after < _not_before(at):
        return None
    if first is None or first.run_after > at.now:
        return Plan(None, first, at.last)
    second = _next(timetable, first.data_interval, every, at.now)
    if restriction.makes_up_all or second is None or second.run_after > at.now:
        return Plan(first, second, at.last)
    return None


def _by_policy(timetable: Timetable, restriction: TimeRestriction, at: Situation) -> Plan:
    bounded = replace(restriction, not_before=_not_before(at))
    if at.skips:
        # Everything that is due is left out at once, however much there is to make up for.
        bounded = replace(bounded, catchup=False)
    info = _next(timetable, at.last, bounded, at.now)
    due = info if info is not None and info.run_after <= at.now else None
    missed, left_behind = (
        ((), at.last) if restriction.makes_up_all and not at.skips else _missed(timetable, restriction, at, info)
    )
    if due is None:
        # Times that were left out are left behind, so that nobody looks at them again.
        return Plan(None, info, left_behind, missed)
    following = _next(timetable, due.data_interval, bounded, at.now)
    if at.skips:
        left_out = Missed(due.run_after, due.logical_date, due.run_after, 1, MissedReason.OVERLAP)
        return Plan(None, following, due.data_interval, (*missed, left_out))
    return Plan(due, following, at.last, missed)


def _next(
    timetable: Timetable, last: DataInterval | None, restriction: TimeRestriction, now: datetime
) -> DagRunInfo | None:
    return timetable.next_dagrun_info(last_automated_data_interval=last, restriction=restriction, now=now)


def _not_before(at: Situation) -> datetime:
    """Return the instant before which times count as missed: a time that waits for the run limit does not."""
    looked = at.now - GRACE
    if at.held_since is not None:
        looked = min(looked, at.held_since)
    return looked if at.resumed_at is None else max(looked, at.resumed_at)


def _between(
    timetable: Timetable, restriction: TimeRestriction, at: Situation, until: DagRunInfo | None
) -> Iterator[DagRunInfo]:
    """Yield the runs after the last one that came before ``until`` and are due by now."""
    every, last = replace(restriction, catchup=True), at.last
    while last is not None:
        info = _next(timetable, last, every, at.now)
        if info is None or info.run_after > at.now or (until and info.logical_date >= until.logical_date):
            return
        yield info
        last = info.data_interval


def _missed(
    timetable: Timetable, restriction: TimeRestriction, at: Situation, until: DagRunInfo | None
) -> tuple[tuple[Missed, ...], DataInterval | None]:
    """Return the times that the policies leave out, and the interval of the last one; who never ran misses nothing."""
    if not timetable.periodic:
        return (), at.last
    runs = _between(timetable, restriction, at, until)
    single, rest = list(islice(runs, _ROWS)), list(islice(runs, _COUNTED))
    rows = [Missed(one.run_after, one.logical_date, one.run_after, 1, _reason(one, at)) for one in single]
    if not rest:
        return tuple(rows), single[-1].data_interval if single else at.last
    end, count = rest[-1], len(rest) if len(rest) < _COUNTED else None
    if count is None:
        # Not one by one: the timetable knows which is the latest that is due.
        end = _next(timetable, at.last, replace(restriction, catchup=False), at.now) or end
    rows.append(Missed(rest[0].run_after, rest[0].logical_date, end.run_after, count, _reason(rest[0], at)))
    return tuple(rows), end.data_interval


def _reason(info: DagRunInfo, at: Situation) -> MissedReason:
    if at.resumed_at is not None and info.run_after < at.resumed_at:
        return MissedReason.PAUSED
    if at.skips or (at.held_since is not None and info.run_after >= at.held_since):
        return MissedReason.OVERLAP
    return MissedReason.LATE
