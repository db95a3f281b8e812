"""What ``dag.test()`` answers: the states, XComs, rendered fields and errors of one run in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from treadle import xcom
from treadle.document import RESERVED_KEYS
from treadle.errors import DagTestFailed
from treadle.runtime.task_instance import UNMAPPED
from treadle.wording import did_you_mean, shown

if TYPE_CHECKING:
    from treadle.runtime.asset_events import AssetEvent


@dataclass(frozen=True, slots=True)
class TaskResult:
    """How one instance of a task ended. ``tries`` is 0 if it was not run; ``seconds`` are those of its last try."""

    task_id: str
    map_index: int
    state: str
    """success, failed, skipped or upstream_failed; of a single try with retries left: up_for_retry."""
    tries: int = 0
    seconds: float = 0.0
    error: Mapping[str, str] | None = None
    """kind, type, message and traceback, as a worker reports them."""
    message: str = ""
    """Why it ended so, in words; empty for a plain success."""
    xcom_texts: Mapping[str, str] = field(default_factory=dict)
    rendered_fields: Mapping[str, Any] = field(default_factory=dict)
    rendered_map_index: str | None = None
    asset_events: tuple[AssetEvent, ...] = ()
    """The updates of assets that it told of."""

    @property
    def name(self) -> str:
        """The task id, with the map index if it is mapped."""
        return self.task_id if self.map_index == UNMAPPED else f"{self.task_id}[{self.map_index}]"

    @property
    def xcoms(self) -> dict[str, Any]:
        """Everything that the code of its last try pushed, by key."""
        return {key: xcom.loads(text) for key, text in self.xcom_texts.items() if not key.startswith(RESERVED_KEYS)}

    @property
    def value(self) -> Any:
        """What the task returned."""
        text = self.xcom_texts.get(xcom.RETURN_KEY)
        return None if text is None else xcom.loads(text)


@dataclass(frozen=True, slots=True)
class DagTestResult:
    """How one run of a DAG ended. ``tasks`` stand in the order in which they ran."""

    dag_id: str
    run_id: str
    state: str
    """success or failed."""
    tasks: list[TaskResult]

    @property
    def states(self) -> dict[str, str]:
        """The state of every task; of a mapped task that of each instance, as ``task[0]``."""
        return {one.name: one.state for one in self.tasks}

    @property
    def xcoms(self) -> dict[str, Any]:
        """What every task returned, by task id; of a mapped task a list. Tasks that returned nothing are left out."""
        found: dict[str, Any] = {}
        for one in self.tasks:
            if xcom.RETURN_KEY not in one.xcom_texts:
                continue
            if one.map_index == UNMAPPED:
                found[one.task_id] = one.value
            else:
                found.setdefault(one.task_id, []).append(one.value)
        return found

    @property
    def asset_events(self) -> list[AssetEvent]:
        """The updates of assets that the run's tasks told of, in the order of the tasks."""
        return [event for one in self.tasks for event in one.asset_events]

    def instances(self, task_id: str) -> list[TaskResult]:
        """Return the instances of a task, in index order.

        Raises:
            LookupError: the run has no such task.
        """
        found = [one for one in self.tasks if one.task_id == task_id]
        if not found:
            known = {one.task_id for one in self.tasks}
            raise LookupError(f"the run has no task {shown(task_id)}{did_you_mean(task_id, known)}")
        return found

    def task(self, task_id: str, map_index: int = UNMAPPED) -> TaskResult:
        """Return one instance of a task.

        Raises:
            LookupError: the run has no such task or instance.
        """
        for one in self.instances(task_id):
            if one.map_index == map_index:
                return one
        indexes = ", ".join(str(one.map_index) for one in self.instances(task_id))
        raise LookupError(f"task {shown(task_id)} has no instance {map_index}; its map indexes are {indexes}")

    def raise_if_failed(self) -> None:
        """Raise DagTestFailed with every failure if the run did not succeed."""
        if self.state != "success":
            failures = [
                f"{one.name}: {one.message}\n{(one.error or {}).get('traceback', '')}".rstrip()
                for one in self.tasks
                if one.state == "failed"
            ]
            raise DagTestFailed(dag_id=self.dag_id, run_id=self.run_id, failures=failures)
