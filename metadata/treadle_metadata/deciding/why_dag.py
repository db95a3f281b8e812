"""Why a DAG gets no run now: the first true answer of the tree in specification section 19. Pure.

What a person must put right comes first (gone, paused, broken file, dead scheduler), then what time will bring.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from treadle.document import AssetCondition
from treadle_metadata.deciding.reasons import Blocker, Explanation, Kind, Reason
from treadle_metadata.deciding.wording import ahead, counted, instant, names, span


@dataclass(frozen=True, slots=True, kw_only=True)
class DagFacts:
    """One DAG as its row and its newest document have it.

    ``run_limit`` is what holds for new runs; ``under_way`` names some of the ``active_runs`` queued or running runs.
    """

    dag_id: str
    file: str
    is_paused: bool = False
    is_active: bool = True
    import_error: str | None = None
    version_number: int | None = None
    schedule: str | None = None
    has_schedule: bool = True
    start_date: datetime | None = None
    end_date: datetime | None = None
    next_run_at: datetime | None = None
    schedule_warning: str | None = None
    run_limit: int = 16
    active_runs: int = 0
    under_way: tuple[str, ...] = ()
    condition: AssetCondition | None = None
    """The assets that it waits for, and how it is scheduled by partitions of them (``ScheduleDocument``)."""
    partitions: str = ""


@dataclass(frozen=True, slots=True)
class SchedulerFacts:
    """Whether any scheduler holds its lease, and the newest heartbeat of all (None: none was ever started)."""

    is_alive: bool
    heartbeat_at: datetime | None = None


def stopped(dag: DagFacts) -> Explanation | None:
    """Return that nothing of the DAG is started, if so: it is gone from its file, or paused."""
    if not dag.is_active:
        sentence = f"DAG {dag.dag_id!r} is gone from its file {dag.file}, so nothing of it is started"
        return Explanation(Reason.DAG_GONE, sentence, Blocker(Kind.DAG_FILE, dag.file))
    if dag.is_paused:
        sentence = f"DAG {dag.dag_id!r} is paused: treadle dags unpause {dag.dag_id}"
        return Explanation(Reason.PAUSED, sentence, Blocker(Kind.DAG, dag.dag_id))
    return None


def broken(dag: DagFacts) -> Explanation | None:
    """Return that the DAG's file cannot be imported, if that is so."""
    if dag.import_error is None:
        return None
    kept = "" if dag.version_number is None else f", so its version {dag.version_number} goes on"
    sentence = f"file {dag.file} of DAG {dag.dag_id!r} cannot be imported{kept}: {dag.import_error}"
    return Explanation(Reason.IMPORT_ERROR, sentence, Blocker(Kind.DAG_FILE, dag.file))


def no_scheduler(scheduler: SchedulerFacts, now: datetime) -> Explanation | None:
    """Return that no scheduler is alive, if none is."""
    if scheduler.is_alive:
        return None
    seen = scheduler.heartbeat_at
    last = "none was ever started" if seen is None else f"the last heartbeat came {_ago(seen, now)}"
    sentence = f"no scheduler is alive, {last}: start `treadle scheduler` or `treadle standalone`"
    return Explanation(Reason.NO_SCHEDULER, sentence, Blocker(Kind.SCHEDULER, "scheduler"))


def in_the_way(dag: DagFacts, scheduler: SchedulerFacts, now: datetime) -> Explanation | None:
    """Return what a person must put right before the DAG gets its next run, if there is anything."""
    return stopped(dag) or broken(dag) or no_scheduler(scheduler, now)


def next_run(dag: DagFacts, now: datetime) -> Explanation:
    """Return why the schedule of a DAG, with which nothing is wrong, makes no run at this moment."""
    if not dag.has_schedule:
        sentence = f"DAG {dag.dag_id!r} has no schedule, it runs when triggered: treadle dags trigger {dag.dag_id}"
        return Explanation(Reason.NO_SCHEDULE, sentence, Blocker(Kind.DAG, dag.dag_id))
    if dag.next_run_at is None or dag.schedule_warning is not None:
        # A schedule that failed is asked again in its time, but that says nothing of what is wrong.
        return _ended(dag, now)
    if dag.next_run_at > now:
        return _to_come(dag, dag.next_run_at, now)
    if dag.active_runs >= dag.run_limit:
        return _at_limit(dag, dag.next_run_at)
    sentence = f"nothing holds DAG {dag.dag_id!r}: its run of {instant(dag.next_run_at)} is made at the next beat"
    return Explanation(Reason.NEXT_BEAT, sentence)


def _ended(dag: DagFacts, now: datetime) -> Explanation:
    schedule = f"the schedule {dag.schedule or ''} of DAG {dag.dag_id!r}".replace("  ", " ")
    if dag.schedule_warning is not None:
        # The warning speaks of "The schedule", which is named here already.
        told = dag.schedule_warning.removeprefix("The schedule ")
        sentence = f"{schedule}{' ' if told != dag.schedule_warning else ': '}{told}"
        return Explanation(Reason.SCHEDULE_ERROR, sentence, Blocker(Kind.DAG, dag.dag_id))
    if dag.end_date is None:
        return Explanation(Reason.NO_MORE_RUNS, f"{schedule} has no further run", Blocker(Kind.DAG, dag.dag_id))
    verb = "ended" if dag.end_date <= now else "has no further run before it ends"
    sentence = f"{schedule} {verb} with its end_date, {instant(dag.end_date)}"
    return Explanation(Reason.END_DATE, sentence, Blocker(Kind.DAG, dag.dag_id))


def _to_come(dag: DagFacts, due: datetime, now: datetime) -> Explanation:
    blocker = Blocker(Kind.DAG, dag.dag_id)
    if dag.start_date is not None and dag.start_date > now:
        sentence = f"DAG {dag.dag_id!r} starts at {instant(dag.start_date)}; its first run is due at {ahead(due, now)}"
        return Explanation(Reason.BEFORE_START_DATE, sentence, blocker, due)
    sentence = f"the next run of DAG {dag.dag_id!r} is due at {ahead(due, now)}"
    return Explanation(Reason.NOT_DUE, sentence, blocker, due)


def _at_limit(dag: DagFacts, due: datetime) -> Explanation:
    sentence = (
        f"the run of {instant(due)} waits: DAG {dag.dag_id!r} has {counted(dag.active_runs, 'run')} under way of "
        f"{dag.run_limit} that max_active_runs allows ({names(dag.under_way, dag.active_runs)})"
    )
    return Explanation(Reason.RUN_LIMIT, sentence, Blocker(Kind.DAG_RUN, f"{dag.dag_id}/{dag.under_way[0]}"))


def _ago(moment: datetime, now: datetime) -> str:
    return f"{span((now - moment).total_seconds())} ago"
