"""Which ready task instances may be queued now: pools, caps and parallelism, decided from plain counts.

``admit`` goes through candidates in turn (``turns``: priority weight, then fair shares of DAGs, then age of the run).
A refusal names the limit, so that "why is it not running?" has one answer (specification section 16; cases A18, A22,
A24, B5, H6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treadle_metadata.deciding.reasons import Reason
from treadle_metadata.deciding.turns import Standing, Turns, in_turn


@dataclass(frozen=True, slots=True)
class Candidate:
    """A scheduled instance with the caps that bear on it; None means without a cap."""

    id: int
    dag_run_id: int
    dag_id: str
    task_id: str
    pool: str
    pool_slots: int
    run_cap: int
    task_cap: int | None = None
    task_cap_in_run: int | None = None
    weight: int = 1
    executor: str = ""
    is_backfill: bool = False
    resumes: bool = False
    """Whether it was deferred, and goes on."""

    @property
    def standing(self) -> Standing:
        """Return where it stands before all fairness: live work first, then by weight."""
        return self.is_backfill, -self.weight


@dataclass(slots=True)
class Load:
    """What is under way: numbers of active instances, and slots held in each pool."""

    total: int = 0
    pools: dict[str, int] = field(default_factory=dict)
    executors: dict[str, int] = field(default_factory=dict)
    shares: dict[tuple[str, str], int] = field(default_factory=dict)
    """Slots that each (pool, DAG) holds."""
    runs: dict[int, int] = field(default_factory=dict)
    tasks: dict[tuple[str, str], int] = field(default_factory=dict)
    tasks_in_run: dict[tuple[int, str], int] = field(default_factory=dict)

    def hold(self, *, pool: str, slots: int, executor: str = "", count: int = 1) -> None:
        """Count ``count`` more instances that hold ``slots`` slots together; a deferred one only holds (count 0)."""
        self.total += count
        self.pools[pool] = self.pools.get(pool, 0) + slots
        self.executors[executor] = self.executors.get(executor, 0) + count

    def engage(self, *, dag_run_id: int, dag_id: str, task_id: str, pool: str, slots: int, count: int = 1) -> None:
        """Count ``count`` more instances against the caps of their run and task, and for the share of their DAG."""
        self.shares[pool, dag_id] = self.shares.get((pool, dag_id), 0) + slots
        self.runs[dag_run_id] = self.runs.get(dag_run_id, 0) + count
        task, in_run = (dag_id, task_id), (dag_run_id, task_id)
        self.tasks[task] = self.tasks.get(task, 0) + count
        self.tasks_in_run[in_run] = self.tasks_in_run.get(in_run, 0) + count

    def admit(self, one: Candidate) -> None:
        """Count a candidate that was admitted."""
        self.hold(pool=one.pool, slots=one.pool_slots, executor=one.executor)
        self.engage(
            dag_run_id=one.dag_run_id, dag_id=one.dag_id, task_id=one.task_id, pool=one.pool, slots=one.pool_slots
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """The sizes: ``parallelism`` over all, slots of each pool (-1: without limit), attempts of an executor."""

    parallelism: int
    pools: Mapping[str, int]
    executors: Mapping[str, int] = field(default_factory=dict)
    """Executors that have a limit of their own."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The limit that keeps a candidate back, as a code and as a clause of a sentence."""

    reason: Reason
    sentence: str

    def __str__(self) -> str:
        """Return the clause."""
        return self.sentence


def admit(
    candidates: Sequence[Candidate], load: Load, limits: Limits, turns: Turns | None = None
) -> tuple[list[Candidate], dict[int, Refusal]]:
    """Return the candidates to queue, in the order of their turns, and for each of the others the reason.

    ``load`` and ``turns`` are brought up to date with what was admitted. Where nobody of a standing was refused, whose
    turn came last is forgotten: a chain of 10,000 tasks has as many weights, and would else carry them all along.
    """
    admitted: list[Candidate] = []
    refused: dict[int, Refusal] = {}
    waiting = set()
    turns = turns or Turns()
    for one in in_turn(candidates, load.shares, turns):
        refused_for = refusal(one, load, limits)
        if refused_for is not None:
            refused[one.id] = refused_for
            waiting.add((one.pool, one.standing))
            continue
        load.admit(one)
        admitted.append(one)
    turns.forget({(one.pool, one.standing) for one in admitted} - waiting)
    return admitted, refused


def refusal(one: Candidate, load: Load, limits: Limits) -> Refusal | None:
    """Return why ``one`` may not be queued under this load, or None if it may."""
    if load.total >= limits.parallelism:
        sentence = f"the installation's parallelism of {limits.parallelism} is reached"
        return Refusal(Reason.PARALLELISM, sentence)
    most = limits.executors.get(one.executor)
    if most is not None and load.executors.get(one.executor, 0) >= most:
        sentence = f"executor {one.executor!r} has {most} active attempts, the most that executor_parallelism allows"
        return Refusal(Reason.EXECUTOR_FULL, sentence)
    return _pool_refusal(one, load, limits) or _cap_refusal(one, load)


def _pool_refusal(one: Candidate, load: Load, limits: Limits) -> Refusal | None:
    slots = limits.pools.get(one.pool)
    if slots is None:
        return Refusal(Reason.POOL_MISSING, f"pool {one.pool!r} does not exist")
    if slots == -1:
        return None
    if one.pool_slots > slots:
        sentence = f"it can never run: it asks for {one.pool_slots} slots of pool {one.pool!r}, which has {slots}"
        return Refusal(Reason.POOL_TOO_SMALL, sentence)
    held = load.pools.get(one.pool, 0)
    if held + one.pool_slots <= slots:
        return None
    free = max(slots - held, 0)
    sentence = f"pool {one.pool!r} has {free} of {slots} slots free, it asks for {one.pool_slots}"
    return Refusal(Reason.POOL, sentence)


def _cap_refusal(one: Candidate, load: Load) -> Refusal | None:
    if load.runs.get(one.dag_run_id, 0) >= one.run_cap:
        sentence = f"its run has {one.run_cap} active tasks, the most that max_active_tasks allows"
        return Refusal(Reason.DAG_CAP, sentence)
    if one.task_cap is not None and load.tasks.get((one.dag_id, one.task_id), 0) >= one.task_cap:
        sentence = (
            f"task {one.task_id!r} has {one.task_cap} active instances, the most that max_active_tis_per_dag allows"
        )
        return Refusal(Reason.TASK_CAP, sentence)
    in_run = load.tasks_in_run.get((one.dag_run_id, one.task_id), 0)
    if one.task_cap_in_run is not None and in_run >= one.task_cap_in_run:
        sentence = (
            f"task {one.task_id!r} has {one.task_cap_in_run} active instances in its run, "
            "the most that max_active_tis_per_dagrun allows"
        )
        return Refusal(Reason.TASK_CAP_IN_RUN, sentence)
    return None
