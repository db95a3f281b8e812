"""What user code sees as ``ti`` and ``dag_run``: the facts of its attempt, and XComs.

The task runtime makes one of each per attempt. What the attempt pushes is kept here, checked and encoded at once,
and leaves with the attempt's result: if the process dies, nothing of it is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from treadle import xcom
from treadle.document import RESERVED_KEYS, SKIPPED_TASKS
from treadle.errors import ReservedKeyError
from treadle.params import NOTSET
from treadle.runtime.supervisor import Supervisor, XComFound, XComQuestion

if TYPE_CHECKING:
    from treadle.dags import DAG
    from treadle.operators.base import BaseOperator

UNMAPPED: Final = -1
"""Map index of a task that is not mapped."""


def moment(text: str | None) -> datetime | None:
    """Return the instant of an ISO 8601 text, in UTC."""
    return None if text is None else datetime.fromisoformat(text).astimezone(UTC)


class DagRun:
    """The run that an attempt belongs to, as it was when the attempt was handed over. Instants are in UTC."""

    def __init__(self, dag_id: str, facts: Mapping[str, Any]) -> None:
        self.dag_id = dag_id
        self.run_id: str = facts["run_id"]
        self.run_type: str = facts["run_type"]
        self.logical_date = moment(facts["logical_date"])
        self.data_interval_start = moment(facts["data_interval_start"])
        self.data_interval_end = moment(facts["data_interval_end"])
        self.run_after = moment(facts["run_after"])
        self.start_date = moment(facts["start_date"])
        self.end_date: datetime | None = None
        self.conf: dict[str, Any] = dict(facts.get("conf") or {})
        self.triggered_by: str = facts.get("triggered_by") or ""
        self.clear_number: int = facts.get("clear_number") or 0
        self.partition_key: str | None = facts.get("partition_key")
        self.partition_date = moment(facts.get("partition_date"))
        self.state = "running"

    def __repr__(self) -> str:
        return f"<DagRun {self.dag_id} {self.run_id}>"


class TaskInstance:
    """The attempt that is running."""

    def __init__(
        self,
        dag: DAG,
        task: BaseOperator,
        dag_run: DagRun,
        workload: Mapping[str, Any],
        supervisor: Supervisor,
        *,
        xcom_max_bytes: int,
    ) -> None:
        self.dag_id = dag.dag_id
        self.task_id = task.task_id
        self.run_id = dag_run.run_id
        self.map_index: int = workload["map_index"]
        self.try_number: int = workload["try_number"]
        self.max_tries: int = workload["max_tries"]
        self.id: str = workload["attempt_id"]
        self.queue: str = workload["queue"]
        self.pool: str = workload["pool"]
        self.start_date = datetime.now(UTC)
        self.end_date: datetime | None = None
        self.state = "running"
        self.dag_run = dag_run
        self.task: BaseOperator = task
        self.context: Any = None
        self._dag = dag
        self._supervisor = supervisor
        self._max_bytes = xcom_max_bytes
        self._pushed: dict[str, dict[str, Any]] = {}

    @property
    def is_mapped(self) -> bool:
        """Whether this is one of the instances of a mapped task."""
        return self.map_index != UNMAPPED

    def get_dag(self) -> DAG:
        """Return the DAG."""
        return self._dag

    def get_template_context(self) -> Any:
        """Return the context of this attempt."""
        return self.context

    def xcom_push(self, key: str, value: Any) -> None:
        """Keep ``value`` under ``key`` for other tasks; stored when the attempt ends.

        Raises:
            XComTypeError: the value cannot be carried; names the bad element.
            XComTooLargeError: it is larger than the installation allows.
            ReservedKeyError: the key is one of Treadle's own.
        """
        if key.startswith(RESERVED_KEYS):
            raise ReservedKeyError(key, RESERVED_KEYS)
        self._keep(key, value)

    def skip_tasks(self, task_ids: Sequence[str]) -> None:
        """Name the tasks that are skipped, whatever their trigger rules, if this attempt succeeds: for branches.

        An empty list is pushed too: it takes the place of what an earlier attempt named.
        """
        self._keep(SKIPPED_TASKS, sorted(task_ids))

    def _keep(self, key: str, value: Any) -> None:
        text, length = xcom.dumps(value, key=key, max_bytes=self._max_bytes)
        self._pushed[key] = {"key": key, "value": text, "length": length}

    def pushed(self) -> list[dict[str, Any]]:
        """Return what was pushed so far, in the form of ``AttemptResult.xcoms``."""
        return list(self._pushed.values())

    def xcom_pull(
        self,
        task_ids: str | Iterable[str] | None = None,
        dag_id: str | None = None,
        key: str = xcom.RETURN_KEY,
        *,
        map_indexes: int | Iterable[int] | Any | None = NOTSET,
        default: Any = None,
        run_id: str | None = None,
    ) -> Any:
        """Return what other tasks pushed under ``key``, ``default`` where there is nothing.

        One task id gives one value, or the list of all values (in index order) if that task is mapped and
        ``map_indexes`` does not name one. Several task ids give a list. None means this task. Of a task of the same
        mapped group it is the value of the same instance, unless ``map_indexes`` says otherwise (None: all).
        """
        one_task = task_ids is None or isinstance(task_ids, str)
        names = [task_ids or self.task_id] if one_task else list(task_ids or ())
        if task_ids is None and map_indexes is NOTSET:
            map_indexes = self.map_index
        wanted = _indexes(map_indexes)
        here = dag_id in (None, self.dag_id) and run_id in (None, self.run_id)
        if here and names == [self.task_id] and key in self._pushed and wanted in (None, (self.map_index,)):
            return xcom.loads(self._pushed[key]["value"])
        own = (self.map_index,) if here and map_indexes is NOTSET and self.is_mapped else None
        questions = [
            XComQuestion(str(name), key, own if own and self._is_beside(name) else wanted, run_id, dag_id)
            for name in names
        ]
        answers = self._supervisor.get_xcoms(questions)
        if one_task:
            single = isinstance(map_indexes, int) or (own is not None and questions[0].map_indexes == own)
            return self._one(answers[0], wanted, single, default)
        return [value for found in answers for value in (_values(found) or [default])]

    def _is_beside(self, task_id: Any) -> bool:
        """Tell whether a task stands in the same mapped group as this one."""
        group = self.task.mapped_group
        return group is not None and any(one.task_id == task_id for one in group.tasks())

    @staticmethod
    def _one(found: Sequence[XComFound], wanted: Sequence[int] | None, single: bool, default: Any) -> Any:
        if not found:
            return default if single or wanted is None else []
        values = _values(found)
        several = not single and (wanted is not None or found[0].map_index != UNMAPPED)
        return values if several else values[0]

    def __repr__(self) -> str:
        index = f"[{self.map_index}]" if self.is_mapped else ""
        return f"<TaskInstance {self.dag_id}.{self.task_id}{index} {self.run_id} try {self.try_number}>"


def _indexes(map_indexes: Any) -> tuple[int, ...] | None:
    if map_indexes is NOTSET or map_indexes is None:
        return None
    return (map_indexes,) if isinstance(map_indexes, int) else tuple(map_indexes)


def _values(found: Sequence[XComFound]) -> list[Any]:
    return [xcom.loads(one.value) for one in found]
