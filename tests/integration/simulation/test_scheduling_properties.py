"""Whatever the DAGs, pools and limits: no limit is ever exceeded, each task runs once, and no time is lost.

The simulator is the engine: the real loop, over random definitions, in virtual time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.support import databases
from tests.support.simulating import daily, simulate

from treadle.document import DagDocument, ScheduleDocument, TaskDocument
from treadle_metadata.connection import Database
from treadle_scheduler.simulation.durations import Durations, TaskFacts
from treadle_scheduler.simulation.result import Result, TaskOutcome

PERIOD = 1 / 48
"""Days: half an hour."""

few = settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),  # a smaller example is not worth minutes of simulations
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@dataclass(frozen=True)
class World:
    """DAGs, their durations, pools and slots."""

    documents: tuple[DagDocument, ...]
    durations: Durations
    pools: dict[str, int]
    parallelism: int

    def simulate(self, database: Database, **changes: Any) -> Result:
        """Simulate it in an empty database."""
        databases.delete_all_rows(database.url)
        given_settings: dict[str, Any] = {"pools": self.pools, "parallelism": self.parallelism} | changes
        return simulate(database, *self.documents, days=PERIOD, durations=self.durations, **given_settings)

    def task(self, dag_id: str, task_id: str) -> TaskDocument:
        """Return a task's document."""
        (dag,) = (one for one in self.documents if one.dag_id == dag_id)
        return next(task for task in dag.tasks if task.task_id == task_id)

    def unlimited(self) -> World:
        """Return the same without any limit."""
        free = tuple(
            replace(
                dag,
                max_active_runs=1000,
                max_active_tasks=1000,
                tasks=tuple(replace(task, pool="default_pool", max_active_tis_per_dag=None) for task in dag.tasks),
            )
            for dag in self.documents
        )
        return replace(self, documents=free, pools={"default_pool": -1}, parallelism=10_000)

    def critical_path(self, dag_id: str) -> float:
        """Return the seconds that a run of the DAG takes at least: its longest path."""
        (dag,) = (one for one in self.documents if one.dag_id == dag_id)
        ends: dict[str, float] = {}
        for task in dag.tasks:
            begin = max((ends[above] for above in task.upstream), default=0.0)
            ends[task.task_id] = begin + self.durations.seconds_of(dag_id, task.task_id)
        return max(ends.values())


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Two DAGs that run each 5 or 10 minutes, of up to 6 tasks, in two pools, with small limits."""
    pools = {"default_pool": draw(st.integers(1, 4)), "p": draw(st.integers(2, 3))}
    facts: dict[tuple[str, str], TaskFacts] = {}
    documents = []
    for dag_id in ("one", "two"):
        tasks = []
        for number in range(draw(st.integers(1, 6))):
            above = draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
            pool = draw(st.sampled_from(sorted(pools)))
            facts[dag_id, f"t{number}"] = TaskFacts(float(draw(st.integers(1, 300))))
            tasks.append(
                TaskDocument(
                    f"t{number}",
                    upstream=tuple(sorted(f"t{one}" for one in above)),
                    pool=pool,
                    pool_slots=draw(st.integers(1, min(2, pools[pool]))),
                    priority_weight=draw(st.integers(1, 3)),
                    max_active_tis_per_dag=draw(st.sampled_from([None, None, 1, 2])),
                )
            )
        schedule = ScheduleDocument(kind="cron", expressions=(f"*/{draw(st.sampled_from([5, 10]))} * * * *",))
        limits = {"max_active_runs": draw(st.integers(1, 3)), "max_active_tasks": draw(st.integers(1, 3))}
        documents.append(daily(dag_id, *tasks, schedule=schedule, catchup=True, **limits))
    return World(tuple(documents), Durations(tasks=facts), pools, draw(st.integers(1, 6)))


@few
@given(world=worlds())
def test_no_limit_is_exceeded_and_each_task_of_each_run_runs_once_in_order(database: Database, world: World) -> None:
    result = world.simulate(database)
    holds_limits(world, result)
    runs_once_in_order(world, result)


def holds_limits(world: World, result: Result) -> None:
    """Check that no limit was exceeded at any instant."""
    in_pools = most(result.tasks, lambda one: one.pool, lambda one: one.slots)
    assert all(in_pools[pool] <= world.pools[pool] for pool in in_pools)
    assert most(result.tasks, lambda _: "all")["all"] <= world.parallelism
    limits = {dag.dag_id: dag for dag in world.documents}
    for (dag_id, _), number in most(result.tasks, lambda one: (one.dag_id, one.run_id)).items():
        assert number <= (limits[dag_id].max_active_tasks or 0)
    for (dag_id, task_id), number in most(result.tasks, lambda one: (one.dag_id, one.task_id)).items():
        cap = world.task(dag_id, task_id).max_active_tis_per_dag
        assert cap is None or number <= cap
    runs = [(one.dag_id, one.started_at, one.ended_at) for one in result.runs]
    for dag_id, number in overlaps((name, start, end, 1) for name, start, end in runs if start and end).items():
        assert number <= (limits[str(dag_id)].max_active_runs or 0)


def runs_once_in_order(world: World, result: Result) -> None:
    """Check that each task ran once, after those above it, and that runs took at least their longest path."""
    assert {run.state for run in result.runs} == {"success"}
    tasks = {dag.dag_id: dag.tasks for dag in world.documents}
    wanted = Counter((run.dag_id, run.run_id, task.task_id) for run in result.runs for task in tasks[run.dag_id])
    assert Counter((one.dag_id, one.run_id, one.task_id) for one in result.tasks) == wanted
    ended = {(one.dag_id, one.run_id, one.task_id): one.ended_at for one in result.tasks}
    for one in result.tasks:
        for above in world.task(one.dag_id, one.task_id).upstream:
            before = ended[one.dag_id, one.run_id, above]
            assert before is not None
            assert before <= one.started_at
    for dag_id in tasks:
        starts = [run.started_at for run in result.runs if run.dag_id == dag_id]
        assert starts == sorted(one for one in starts if one)
    for run in result.runs:
        assert run.started_at is not None
        assert run.ended_at is not None
        assert run.started_at >= run.due_at
        assert (run.ended_at - run.started_at).total_seconds() >= world.critical_path(run.dag_id)


@few
@given(world=worlds())
def test_without_limits_a_run_starts_when_due_and_takes_its_critical_path(database: Database, world: World) -> None:
    free = world.unlimited()
    for run in free.simulate(database).runs:
        assert run.started_at == run.due_at
        assert run.ended_at == run.due_at + timedelta(seconds=free.critical_path(run.dag_id))


@settings(few, max_examples=2)
@given(world=worlds(), rate=st.sampled_from([0.0, 0.4]))
def test_equal_simulations_have_equal_results(database: Database, world: World, rate: float) -> None:
    flaky = replace(world, durations=replace(world.durations, failure_rate=rate, seed=7))
    assert flaky.simulate(database) == flaky.simulate(database)


def most(
    tasks: Iterable[TaskOutcome],
    key: Callable[[TaskOutcome], Hashable],
    weight: Callable[[TaskOutcome], int] = lambda _: 1,
) -> dict[Any, int]:
    """Return, for each key, the most weight under way at any instant."""
    return overlaps((key(one), one.started_at, one.ended_at, weight(one)) for one in tasks if one.ended_at)


def overlaps(spans: Iterable[tuple[Hashable, datetime, datetime, int]]) -> dict[Any, int]:
    """Return, for each key, the most weight of spans that overlap: ends come before starts of the same instant."""
    changes: dict[Hashable, list[tuple[datetime, int]]] = {}
    for key, start, end, weight in spans:
        changes.setdefault(key, []).extend([(end, -weight), (start, weight)])
    peaks = {}
    for key, found in changes.items():
        used = peak = 0
        for _, change in sorted(found):
            used += change
            peak = max(peak, used)
        peaks[key] = peak
    return peaks
