"""From the plan of a DAG's schedule to the rows to be written: the run, where the schedule stands, the times left out.

Pure; called by the ``create_runs`` duty for each DAG that is due. Custom timetables are planned elsewhere
(``custom_timetables``), but what comes of their plan is decided here, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from treadle.partition_keys import partition_of
from treadle.timetables.base import DagRunInfo, DataInterval
from treadle.timetables.factory import from_document
from treadle.timetables.planning import GRACE, Plan, Situation
from treadle_metadata.deciding.graph import Graph
from treadle_metadata.errors import UnusableVersionError
from treadle_metadata.schedules import planned
from treadle_metadata.settings import Settings

ASK_AGAIN: Final = timedelta(minutes=1)
"""When a custom timetable that failed is asked again: what it reads may have been mended."""


@dataclass(frozen=True, slots=True)
class Look:
    """One DAG that is due: its row, its graph, how many runs it has under way, and how many it may have."""

    row: Mapping[str, Any]
    graph: Graph
    busy: int
    limit: int
    """The DAG's own limit, or the installation's."""
    now: datetime
    of_timetable: int | None = None
    """The timetable's limit, within which the other one holds."""

    @property
    def is_full(self) -> bool:
        """Return True if the DAG is at its run limit."""
        limit = self.limit if self.of_timetable is None else min(self.limit, self.of_timetable)
        return self.busy >= limit

    @property
    def is_custom(self) -> bool:
        """Return True for a timetable that is no part of Treadle."""
        return self.graph.document.schedule.kind == "custom"

    @property
    def situation(self) -> Situation:
        """Return what the plan depends on."""
        row, last = self.row, _last_interval(self.row)
        skips = self.is_full and self.graph.document.overlap == "skip"
        return Situation(self.now, last, row["resumed_at"], row["held_since"], skips)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is to be written for one DAG. ``run`` is the row of the run to make; ``is_late``: it makes up for a miss."""

    dag_id: str
    plan: Mapping[str, Any]
    run: Mapping[str, Any] | None = None
    missed: tuple[Mapping[str, Any], ...] = ()
    is_late: bool = False
    postponed: Mapping[str, Any] | None = None
    """The plan to write instead of making the run, if the pace does not allow it now."""
    warning: str = ""

    def put_off(self) -> Outcome:
        """Return the same DAG without its run, which is looked at again in the next minute."""
        return replace(self, run=None, plan=self.postponed or self.plan)


def limit_of_timetable(graph: Graph, settings: Settings) -> int | None:
    """Return the most runs under way that the DAG's timetable allows, if it says so."""
    return from_document(graph.document.schedule, default_style=settings.cron_style).active_runs_limit


def outcome_of(look: Look, plan: Plan) -> Outcome:
    """Return what comes of ``plan``."""
    dag_id, due, now = look.graph.dag_id, plan.due, look.now
    missed = tuple({"dag_id": dag_id, **asdict(one)} for one in plan.missed)
    if due is None:
        return Outcome(dag_id, planned(dag_id, last=plan.last, following=plan.following), missed=missed)
    if look.is_full:
        # It waits. What comes meanwhile is not late, whatever the catch-up policy is (case A65).
        since = look.row["held_since"] or min(due.run_after, now)
        row = planned(dag_id, last=plan.last, following=due, held_since=since, run_limit=look.of_timetable)
        return Outcome(dag_id, row, missed=missed)
    next_minute = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    return Outcome(
        dag_id,
        planned(dag_id, last=due.data_interval, following=plan.following),
        run=scheduled_run(look.graph, due),
        missed=missed,
        is_late=now - due.run_after > GRACE,
        postponed=planned(dag_id, last=plan.last, following=due, look_at=next_minute),
    )


def outcome_of_failure(look: Look, error: Exception) -> Outcome:
    """Return what comes of a schedule that cannot be evaluated: a warning, and no run of this DAG (case A4)."""
    dag_id, last = look.graph.dag_id, look.situation.last
    again = look.now + ASK_AGAIN if look.is_custom else None
    then = "it is asked again in a minute" if look.is_custom else "it makes no run until it is changed"
    told = str(error if look.is_custom else repr(error)).rstrip(".")
    message = f"The schedule gives no next run: {told}; {then}."
    return Outcome(dag_id, planned(dag_id, last=last, following=None, look_at=again), warning=message)


def outcome_of_unusable(row: Mapping[str, Any], error: UnusableVersionError, now: datetime) -> Outcome:
    """Return what comes of a DAG whose newest version cannot be read: it is looked at again, as another release may."""
    plan = planned(row["dag_id"], last=_last_interval(row), following=None, look_at=now + ASK_AGAIN)
    return Outcome(row["dag_id"], plan, warning=f"The schedule gives no next run: {error}.")


def _last_interval(row: Mapping[str, Any]) -> DataInterval | None:
    start, end = row["last_interval_start"], row["last_interval_end"]
    return None if start is None else DataInterval(start, end)


def scheduled_run(graph: Graph, info: DagRunInfo) -> dict[str, Any]:
    """Return the row of the scheduled run that ``info`` describes."""
    return {
        "dag_id": graph.dag_id,
        "run_id": f"scheduled__{info.run_after.isoformat()}",
        "version_id": graph.version_id,
        "run_type": "scheduled",
        "logical_date": info.logical_date,
        "interval_start": info.data_interval.start,
        "interval_end": info.data_interval.end,
        "run_after": info.run_after,
        "triggered_by": "timetable",
        **partition_of(graph.document.schedule, info.logical_date),
    }
