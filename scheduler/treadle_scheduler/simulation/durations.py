"""How long attempts take in virtual time, and how they end: from a file, from the past, else a default.

Pure: the past is given as plain numbers. What an attempt does depends on nothing but its names and the seed, so that
two simulations of the same definitions are equal, whatever order their attempts start in.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from treadle_scheduler.simulation.errors import SimulationError

DEFAULT_SECONDS: Final = 60.0
_OF_TASK: Final = {"seconds", "failure_rate", "items", "waits_for"}
_OF_DAG: Final = {"seconds", "tasks"}


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """What a file says of one task; None: nothing."""

    seconds: float | None = None
    failure_rate: float | None = None
    items: int | None = None
    """How many items its result has, for the tasks mapped over it."""
    waits_for: str | None = None
    """Its attempts end no sooner than the run of this DAG with their logical date has succeeded (a sensor)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """What is known of tasks, best first: ``tasks``, ``dags`` (both of a file), ``past``, ``seconds``."""

    seconds: float = DEFAULT_SECONDS
    tasks: Mapping[tuple[str, str], TaskFacts] = field(default_factory=dict)
    dags: Mapping[str, float] = field(default_factory=dict)
    past: Mapping[tuple[str, str], float] = field(default_factory=dict)
    lengths: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    """Of XComs in the past, by DAG, task and key."""
    failure_rate: float = 0.0
    seed: int = 0

    def facts(self, dag_id: str, task_id: str) -> TaskFacts:
        """Return what the file says of a task."""
        return self.tasks.get((dag_id, task_id), _NOTHING)

    def seconds_of(self, dag_id: str, task_id: str) -> float:
        """Return how long an attempt of the task takes."""
        said = self.facts(dag_id, task_id).seconds
        if said is None:
            said = self.dags.get(dag_id)
        return self.past.get((dag_id, task_id), self.seconds) if said is None else said

    def items_of(self, dag_id: str, task_id: str, key: str) -> int:
        """Return how many items a result has: as the file says, as it last had, else one."""
        said = self.facts(dag_id, task_id).items
        return self.lengths.get((dag_id, task_id, key), 1) if said is None else said

    def fails(self, dag_id: str, task_id: str, run_id: str, map_index: int, try_number: int) -> bool:
        """Tell whether this attempt fails: always the same answer for the same attempt and seed."""
        rate = self.facts(dag_id, task_id).failure_rate
        rate = self.failure_rate if rate is None else rate
        if rate <= 0:
            return False
        text = f"{self.seed}#{dag_id}#{run_id}#{task_id}#{map_index}#{try_number}"
        drawn = int.from_bytes(hashlib.sha1(text.encode(), usedforsecurity=False).digest()[:8])
        return drawn < rate * 2**64


_NOTHING: Final = TaskFacts()


def read_file(path: Path) -> Durations:
    """Read a durations file (TOML, ``docs/howto/simulate.md``).

    Raises:
        SimulationError: it cannot be read, or says something that is not known.
    """
    try:
        content = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SimulationError(f"the durations file {path} cannot be read: {error}") from error
    _known(path, "at the top", content, {"seconds", "dags"})
    tasks: dict[tuple[str, str], TaskFacts] = {}
    dags: dict[str, float] = {}
    for dag_id, of_dag in _table(path, "dags", content.get("dags", {})).items():
        said = _table(path, f"dags.{dag_id}", of_dag)
        _known(path, f"of DAG {dag_id!r}", said, _OF_DAG)
        if "seconds" in said:
            dags[dag_id] = _number(path, f"dags.{dag_id}.seconds", said["seconds"])
        for task_id, of_task in _table(path, f"dags.{dag_id}.tasks", said.get("tasks", {})).items():
            tasks[dag_id, task_id] = _task(path, f"dags.{dag_id}.tasks.{task_id}", of_task)
    return Durations(seconds=_number(path, "seconds", content.get("seconds", DEFAULT_SECONDS)), tasks=tasks, dags=dags)


def _task(path: Path, name: str, said: Any) -> TaskFacts:
    if not isinstance(said, dict):
        return TaskFacts(seconds=_number(path, name, said))
    _known(path, f"of {name}", said, _OF_TASK)
    numbers = {key: _number(path, f"{name}.{key}", said[key]) for key in ("seconds", "failure_rate") if key in said}
    items, waits_for = said.get("items"), said.get("waits_for")
    if numbers.get("failure_rate", 0) > 1:
        raise SimulationError(f"{path}: {name}.failure_rate is {said['failure_rate']!r}, expected 0 to 1")
    if items is not None and (not isinstance(items, int) or isinstance(items, bool) or items < 0):
        raise SimulationError(f"{path}: {name}.items is {items!r}, expected a whole number, 0 or more")
    if waits_for is not None and not isinstance(waits_for, str):
        raise SimulationError(f"{path}: {name}.waits_for is {waits_for!r}, expected the id of a DAG")
    return TaskFacts(**numbers, items=items, waits_for=waits_for)


def _table(path: Path, name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SimulationError(f"{path}: {name} is {value!r}, expected a table")
    return value


def _number(path: Path, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise SimulationError(f"{path}: {name} is {value!r}, expected a number, 0 or more")
    return float(value)


def _known(path: Path, where: str, said: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(said) - known)
    if unknown:
        raise SimulationError(f"{path}: {unknown[0]!r} {where} is not known; known are {', '.join(sorted(known))}")
