"""Why a run has not started, or that it has ended. A run under way is explained by its tasks (``why_task``). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from treadle_metadata.deciding.reasons import Blocker, Explanation, Kind, Reason
from treadle_metadata.deciding.why_dag import DagFacts, SchedulerFacts, no_scheduler, stopped
from treadle_metadata.deciding.wording import ahead, counted, instant, names


@dataclass(frozen=True, slots=True)
class Room:
    """The limit that a queued run must pass, and who is before it.

    ``running`` names some of the ``active`` runs that hold places; ``before`` is how many due runs are queued earlier.
    """

    limit: int
    active: int = 0
    running: tuple[str, ...] = ()
    before: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """One run. ``backfill_id`` None: it counts against the limit of its DAG, else against its backfill's."""

    dag_id: str
    run_id: str
    state: str
    run_after: datetime
    ended_at: datetime | None = None
    backfill_id: int | None = None
    backfill_is_paused: bool = False


def finished(run: RunFacts, failed_callback: tuple[int, str] | None = None) -> Explanation:
    """Return that the run has ended, and which of its callbacks failed (its number and its error), if one did."""
    when = "" if run.ended_at is None else f" at {instant(run.ended_at)}"
    blocker = Blocker(Kind.DAG_RUN, f"{run.dag_id}/{run.run_id}")
    told = "" if failed_callback is None else f"; its callback {failed_callback[0]} failed: {failed_callback[1]}"
    return Explanation(Reason.FINISHED, f"run {run.run_id!r} ended in state {run.state}{when}{told}", blocker)


def complete(run: RunFacts) -> Explanation:
    """Return that the run is under way although all of its tasks have ended."""
    sentence = f"all tasks of run {run.run_id!r} have ended: it ends at the scheduler's next beat"
    return Explanation(Reason.NEXT_BEAT, sentence)


def queued(dag: DagFacts, run: RunFacts, room: Room, scheduler: SchedulerFacts, now: datetime) -> Explanation:
    """Return why a queued run has not started."""
    found = stopped(dag) or no_scheduler(scheduler, now) or _too_early(run, now) or _backfill_paused(run)
    if found is not None:
        return found
    if room.limit - room.active <= room.before:
        return _no_room(run, room)
    return Explanation(Reason.NEXT_BEAT, f"nothing holds run {run.run_id!r}: it starts at the scheduler's next beat")


def _too_early(run: RunFacts, now: datetime) -> Explanation | None:
    if run.backfill_id is not None or run.run_after <= now:
        return None
    sentence = f"run {run.run_id!r} starts no earlier than its run_after, {ahead(run.run_after, now)}"
    return Explanation(Reason.NOT_DUE, sentence, Blocker(Kind.DAG_RUN, f"{run.dag_id}/{run.run_id}"), run.run_after)


def _backfill_paused(run: RunFacts) -> Explanation | None:
    if not run.backfill_is_paused:
        return None
    sentence = (
        f"run {run.run_id!r} belongs to backfill {run.backfill_id}, which is paused: "
        f"treadle backfill resume {run.backfill_id}"
    )
    return Explanation(Reason.BACKFILL_PAUSED, sentence, Blocker(Kind.BACKFILL, str(run.backfill_id)))


def _no_room(run: RunFacts, room: Room) -> Explanation:
    owner = f"DAG {run.dag_id!r}" if run.backfill_id is None else f"backfill {run.backfill_id}"
    holders = f" ({names(room.running, room.active)})" if room.running else ""
    before = f", and {counted(room.before, 'queued run')} before this one" if room.before else ""
    sentence = (
        f"{owner} has {counted(room.active, 'running run')} of {room.limit} that max_active_runs allows"
        f"{holders}{before}"
    )
    if room.running:
        return Explanation(Reason.RUN_LIMIT, sentence, Blocker(Kind.DAG_RUN, f"{run.dag_id}/{room.running[0]}"))
    return Explanation(Reason.RUN_LIMIT, sentence, Blocker(Kind.DAG, run.dag_id))
