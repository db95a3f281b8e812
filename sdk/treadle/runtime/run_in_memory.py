"""One run of a DAG in this process: the scheduler's decisions and the attempts, one task after the other.

:mod:`treadle.runtime.dag_test` drives it. Every task is looked at once, after all that it waits for has ended, so a
trigger rule never has to wait; what it decides is what the scheduler would decide.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, Final

from treadle import xcom
from treadle.expansion import indexes_of
from treadle.runtime.dag_test_result import DagTestResult, TaskResult
from treadle.runtime.local_supervisor import LocalSupervisor
from treadle.runtime.run_task import Limits, attempt_here
from treadle.runtime.supervisor import AttemptResult
from treadle.runtime.task_instance import UNMAPPED
from treadle.trigger_rules import UpstreamCounts, evaluate
from treadle.xcom_arg import XComArg

if TYPE_CHECKING:
    from treadle.dags import DAG
    from treadle.operators.base import BaseOperator

_STATE_OF_VERDICT: Final = {"skip": "skipped", "upstream_fail": "upstream_failed"}

log = logging.getLogger("treadle.dag_test")


@dataclass(slots=True)
class RunInMemory:
    """One run of a DAG under test, and the states so far. ``facts`` are a workload's ``run``."""

    dag: DAG
    facts: dict[str, Any]
    supervisor: LocalSupervisor
    limits: Limits
    mark_success_pattern: str | None = None
    tasks: dict[str, list[TaskResult]] = field(default_factory=dict)
    stopped: bool = False
    """A task failed in a DAG with ``fail_fast``."""

    def run_task(self, task: BaseOperator) -> None:
        """Run all instances of ``task``, if its trigger rule says so."""
        if self.stopped:
            self._note(TaskResult(task.task_id, UNMAPPED, "skipped"))
            return
        verdict = evaluate(task.trigger_rule, self._counts(task))
        state = _STATE_OF_VERDICT.get(verdict.action)
        if state is not None:
            self._note(TaskResult(task.task_id, UNMAPPED, state, message=verdict.reason))
            return
        if self.mark_success_pattern and re.search(self.mark_success_pattern, task.task_id):
            self._note(TaskResult(task.task_id, UNMAPPED, "success", message="marked as success, not run"))
            return
        self._run_instances(task)

    def _run_instances(self, task: BaseOperator) -> None:
        if not task.is_mapped:
            self._note(self._try(task, UNMAPPED, None))
            return
        lengths = self._lengths(task)
        if isinstance(lengths, str):
            self._note(TaskResult(task.task_id, UNMAPPED, "failed", message=lengths))
            return
        for map_index in range(prod(lengths)):
            self._note(self._try(task, map_index, indexes_of(map_index, lengths)))
        if not prod(lengths):
            self._note(TaskResult(task.task_id, UNMAPPED, "skipped", message="there is nothing to map over"))

    def run_one(self, task: BaseOperator, map_index: int, given: Mapping[str, Any]) -> TaskResult:
        """Run one try of one instance; ``given`` are the results of other tasks."""
        if not task.is_mapped:
            return self._attempt(task, map_index, None, 1, retries=0)
        mapped: Any = task
        lengths = mapped.expand_input.lengths(lambda one: len(given.get(one.operator.task_id) or ()))
        if map_index >= prod(lengths):
            raise LookupError(
                f"task {task.task_id!r} has {prod(lengths)} instances here, so none of index {map_index}; "
                "give the results it is mapped over as xcoms={task_id: value}"
            )
        return self._attempt(task, map_index, indexes_of(map_index, lengths), 1, retries=0)

    def _lengths(self, mapped: Any) -> list[int] | str:
        """Return how many items each mapped argument has, or why that is not known."""
        lengths = []
        for argument in mapped.expand_input.arguments.values():
            length = self._length(argument) if isinstance(argument, XComArg) else len(argument)
            if length is None:
                return (
                    f"cannot expand {mapped.task_id!r}: task {argument.operator.task_id!r} "
                    f"pushed no list or dict as XCom {argument.key!r}"
                )
            lengths.append(length)
        return lengths

    def _length(self, reference: XComArg) -> int | None:
        task_id = reference.operator.task_id
        instances = self.tasks[task_id]
        if reference.operator.is_mapped and instances[0].map_index != UNMAPPED:
            return len(instances)
        text = self.supervisor.text(task_id, reference.key, UNMAPPED)
        value = None if text is None else xcom.loads(text)
        return len(value) if isinstance(value, (list, tuple, dict)) else None

    def _try(self, task: BaseOperator, map_index: int, indexes: Sequence[int] | None) -> TaskResult:
        """Run one instance until it succeeds or its retries are used up."""
        for try_number in range(1, task.retries + 2):
            result = self._attempt(task, map_index, indexes, try_number, retries=task.retries)
            if result.state != "up_for_retry":
                break
        self.stopped = self.stopped or (self.dag.fail_fast and result.state == "failed")
        return result

    def _attempt(
        self, task: BaseOperator, map_index: int, indexes: Sequence[int] | None, try_number: int, *, retries: int
    ) -> TaskResult:
        workload = {
            "attempt_id": str(uuid.uuid4()),
            "dag_id": self.dag.dag_id,
            "task_id": task.task_id,
            "map_index": map_index,
            "try_number": try_number,
            "max_tries": retries,
            "queue": task.queue,
            "pool": task.pool,
            "run": self.facts,
            "expand_index": indexes,
        }
        started = time.monotonic()
        ended = attempt_here(self.dag, task.task_id, workload, self.supervisor, self.limits)
        self.supervisor.keep(task.task_id, map_index, ended.xcoms)
        return TaskResult(
            task.task_id,
            map_index,
            _state(ended, may_retry=try_number <= retries),
            tries=try_number,
            seconds=time.monotonic() - started,
            error=ended.error,
            message=ended.error["message"] if ended.error else "",
            xcom_texts={one["key"]: one["value"] for one in ended.xcoms},
            rendered_fields=ended.rendered_fields or {},
            rendered_map_index=ended.rendered_map_index,
        )

    def _counts(self, task: BaseOperator) -> UpstreamCounts:
        states = [one.state for upstream in task.upstream_task_ids for one in self.tasks[upstream]]
        return UpstreamCounts(
            total=len(states),
            success=states.count("success"),
            failed=states.count("failed"),
            skipped=states.count("skipped"),
            upstream_failed=states.count("upstream_failed"),
            done=len(states),
        )

    def _note(self, result: TaskResult) -> None:
        log.info("%s: %s%s", result.name, result.state, f" ({result.message})" if result.message else "")
        self.tasks.setdefault(result.task_id, []).append(result)

    def result(self) -> DagTestResult:
        """Return the answer; the run's state is that of the tasks that none waits for."""
        bad = any(
            one.state in ("failed", "upstream_failed") for leaf in self.dag.leaves for one in self.tasks[leaf.task_id]
        )
        return DagTestResult(
            dag_id=self.dag.dag_id,
            run_id=self.facts["run_id"],
            state="failed" if bad or self.stopped else "success",
            tasks=[one for task_id in self.tasks for one in self.tasks[task_id]],
        )


def _state(ended: AttemptResult, *, may_retry: bool) -> str:
    if ended.outcome == "failed" and may_retry:
        return "up_for_retry"
    return "failed" if ended.outcome == "failed_without_retry" else ended.outcome
