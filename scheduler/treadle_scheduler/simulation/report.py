"""What a simulation's result means to people: per DAG, per pool and per hour of the day. Pure.

The hours of the day are UTC and count only the simulated period, so that a day's work is compared with a day's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Final

from treadle_scheduler.simulation.result import Result, RunOutcome, TaskOutcome

HOUR: Final = timedelta(hours=1)
HOURS_OF_DAY: Final = 24


@dataclass(frozen=True, slots=True)
class Usage:
    """How a pool, or the executor, is used. ``slots`` is its size; -1: without limit."""

    name: str
    slots: int
    peak: int
    peak_at: datetime | None
    mean: float
    by_hour: tuple[float, ...]
    """Mean slots in use in each hour of the day, UTC."""
    busiest_share: tuple[str, float] | None
    """The DAG that has most of the busiest hour, and how much of it (0 to 1)."""
    steps: tuple[tuple[datetime, int], ...]
    """Each instant at which the number of slots in use changed, and to what."""

    @property
    def busiest_hour(self) -> int:
        """The hour of the day with most slots in use."""
        return max(range(HOURS_OF_DAY), key=lambda hour: (self.by_hour[hour], -hour))

    @property
    def freest_hour(self) -> int:
        """The hour of the day with fewest slots in use; the earliest of several."""
        return min(range(HOURS_OF_DAY), key=lambda hour: (self.by_hour[hour], hour))


@dataclass(frozen=True, slots=True)
class DagSummary:
    """The runs of one DAG. Durations are from start to end, waits from the due time to the start; in seconds."""

    dag_id: str
    runs: int
    failed: int
    unfinished: int
    mean_seconds: float
    longest_seconds: float
    longest_wait_seconds: float
    last_end: datetime | None


def wait_of(run: RunOutcome) -> timedelta:
    """Return how long after its due time a run began; one that never did waits from then to nowhere: zero."""
    return timedelta(0) if run.started_at is None else max(timedelta(0), run.started_at - run.due_at)


def late_starts(result: Result, after: timedelta) -> list[RunOutcome]:
    """Return the runs that began more than ``after`` late, the latest first."""
    late = [run for run in result.runs if wait_of(run) > after]
    return sorted(late, key=lambda run: (-wait_of(run), run.due_at, run.dag_id))


def unfinished(result: Result) -> list[RunOutcome]:
    """Return the runs that never end."""
    return [run for run in result.runs if run.ended_at is None]


def dag_summaries(result: Result) -> list[DagSummary]:
    """Return one summary for each DAG that has a run, by its id."""
    ordered = sorted(result.runs, key=attrgetter("dag_id"))
    return [_summary(dag_id, list(runs)) for dag_id, runs in groupby(ordered, key=attrgetter("dag_id"))]


def _summary(dag_id: str, runs: list[RunOutcome]) -> DagSummary:
    seconds = [(run.ended_at - run.started_at).total_seconds() for run in runs if run.started_at and run.ended_at]
    return DagSummary(
        dag_id,
        len(runs),
        sum(run.state == "failed" for run in runs),
        sum(run.ended_at is None for run in runs),
        sum(seconds) / len(seconds) if seconds else 0.0,
        max(seconds, default=0.0),
        max(wait_of(run) for run in runs).total_seconds(),
        max((run.ended_at for run in runs if run.ended_at), default=None),
    )


def pool_usage(result: Result) -> list[Usage]:
    """Return how each pool is used that has a task, by its name."""
    by_pool: dict[str, list[TaskOutcome]] = {}
    for task in result.tasks:
        by_pool.setdefault(task.pool, []).append(task)
    return [_usage(name, result.pools.get(name, 0), by_pool[name], True, result) for name in sorted(by_pool)]


def executor_usage(result: Result) -> Usage:
    """Return how the executor's slots are used: one by each attempt."""
    return _usage("executor", result.executor_slots, result.tasks, False, result)


def _usage(name: str, slots: int, tasks: Iterable[TaskOutcome], weighted: bool, result: Result) -> Usage:
    spans = [(task, task.slots if weighted else 1) for task in tasks]
    steps = tuple(_steps(spans, _last(result)))
    peak_at, peak = max(steps, key=lambda step: step[1], default=(None, 0))
    days = (result.end - result.begin) / timedelta(days=1)
    seconds = [0.0] * HOURS_OF_DAY
    of_dags: list[dict[str, float]] = [{} for _ in range(HOURS_OF_DAY)]
    for task, held in spans:
        for hour, length in _hours(task.started_at, task.ended_at or _last(result), result):
            seconds[hour] += length * held
            of_dags[hour][task.dag_id] = of_dags[hour].get(task.dag_id, 0.0) + length * held
    present = _present(result)
    by_hour = tuple(one / there if there else 0.0 for one, there in zip(seconds, present, strict=True))
    busiest = max(range(HOURS_OF_DAY), key=lambda hour: (by_hour[hour], -hour))
    share = max(of_dags[busiest].items(), key=lambda item: (item[1], item[0]), default=None)
    return Usage(
        name,
        slots,
        peak,
        peak_at,
        sum(seconds) / (days * 86400) if days else 0.0,
        by_hour,
        None if share is None else (share[0], share[1] / seconds[busiest]),
        steps,
    )


def _last(result: Result) -> datetime:
    """Return the end of all, for attempts that never end."""
    return max([result.end, *(task.ended_at for task in result.tasks if task.ended_at)])


def _steps(spans: Iterable[tuple[TaskOutcome, int]], last: datetime) -> Iterator[tuple[datetime, int]]:
    changes: dict[datetime, int] = {}
    for task, held in spans:
        changes[task.started_at] = changes.get(task.started_at, 0) + held
        end = task.ended_at or last
        changes[end] = changes.get(end, 0) - held
    used = 0
    for at in sorted(changes):
        used += changes[at]
        if changes[at]:
            yield at, used


def _hours(start: datetime, end: datetime, result: Result) -> Iterator[tuple[int, float]]:
    """Yield (hour of the day, seconds) of the part of a span that lies in the simulated period."""
    at, end = max(start, result.begin), min(end, result.end)
    while at < end:
        following = min(end, at.replace(minute=0, second=0, microsecond=0) + HOUR)
        yield at.hour, (following - at).total_seconds()
        at = following


def _present(result: Result) -> list[float]:
    """Return how many seconds of each hour of the day the simulated period holds."""
    seconds = [0.0] * HOURS_OF_DAY
    for hour, length in _hours(result.begin, result.end, result):
        seconds[hour] += length
    return seconds
