"""What a simulation found: plain values, equal for equal simulations, without a database behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """One run: when it was due, when its first task began (its own start, if it has no task), and when it ended."""

    dag_id: str
    run_id: str
    due_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    state: str


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """One attempt. ``slots`` are what it held of ``pool``; ``outcome`` is None for one that never ended."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    try_number: int
    pool: str
    slots: int
    started_at: datetime
    ended_at: datetime | None
    outcome: str | None


@dataclass(frozen=True, slots=True)
class MissedDeadline:
    """A deadline of a run that passed before the run had ended."""

    dag_id: str
    run_id: str
    name: str
    due_at: datetime


@dataclass(frozen=True, slots=True)
class Result:
    """All of a simulation. ``begin`` and ``end`` bound the runs' due times; runs may end later than ``end``."""

    begin: datetime
    end: datetime
    executor_slots: int
    pools: Mapping[str, int]
    """Slots by name; -1: without limit."""
    runs: tuple[RunOutcome, ...] = ()
    tasks: tuple[TaskOutcome, ...] = ()
    missed_deadlines: tuple[MissedDeadline, ...] = ()
    stuck: tuple[str, ...] = ()
    """Why runs never end, a sentence each."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """DAGs that were not simulated, with the reason."""
