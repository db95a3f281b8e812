"""One run of a DAG in this process: the scheduler's decisions and the attempts, one task after the other.

:mod:`treadle.runtime.dag_test` drives it. Every task is looked at once, after all that it waits for has ended, so a
trigger rule never has to wait; what it decides is what the scheduler would decide.
"""

from __future__ import annotations

import importlib
import logging
import re
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import prod
from typing import TYPE_CHECKING, Any, Final

from treadle import xcom
from treadle.document import SKIPPED_TASKS
from treadle.expansion import ExpandInput, indexes_of
from treadle.lengths import length_of, results_in
from treadle.runtime.dag_test_result import DagTestResult, TaskResult
from treadle.runtime.local_supervisor import LocalSupervisor, stamped
from treadle.runtime.run_task import Limits, attempt_here
from treadle.runtime.supervisor import AttemptResult
from treadle.runtime.task_instance import UNMAPPED
from treadle.scopes import deciding_leaves, guarding_setups
from treadle.trigger_rules import Action, UpstreamCounts, Verdict, evaluate

if TYPE_CHECKING:
    from treadle.dags import DAG
    from treadle.operators.base import BaseOperator
    from treadle.runtime.asset_events import AssetEvent
    from treadle.task_groups import TaskGroup

_STATE_OF_VERDICT: Final = {"skip": "skipped", "upstream_fail": "upstream_failed"}

_ENDS_OF_SETUPS: Final[tuple[tuple[tuple[str, ...], Action], ...]] = (
    (("failed", "upstream_failed"), "upstream_fail"),
    (("skipped",), "skip"),
)
"""What becomes of a task in the scope of a setup that ended so, whatever the task's own trigger rule says."""

_NOTHING: Final = "there is nothing to map over"

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

    skipped_by: dict[tuple[str, int], str] = field(default_factory=dict)
    """Tasks that a branch or short circuit left out, with the instance within a mapped group, and the task that did."""
    sizes: dict[str, list[int] | str] = field(default_factory=dict)
    """Of each mapped group the lengths of its arguments, or why they are not known."""
    guards: dict[str, set[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.guards = guarding_setups(self.dag.tasks, self._upstream)

    @property
    def _upstream(self) -> dict[str, set[str]]:
        return {task.task_id: task.upstream_task_ids for task in self.dag.tasks}

    def run_task(self, task: BaseOperator) -> None:
        """Run all instances of ``task`` that its trigger rule lets run."""
        group = task.mapped_group
        if group is None:
            self._run_at(task, UNMAPPED, None)
            return
        lengths = self._lengths_of(group, task)
        if isinstance(lengths, str):
            self._run_at(task, UNMAPPED, None, impossible=lengths)
            return
        self.supervisor.ran(task.task_id, prod(lengths))
        for map_index in range(prod(lengths)):
            self._run_at(task, map_index, indexes_of(map_index, lengths))
        if not prod(lengths):
            self._note(TaskResult(task.task_id, UNMAPPED, "skipped", message=_NOTHING))

    def _lengths_of(self, group: TaskGroup, task: BaseOperator) -> list[int] | str:
        """Return the lengths of what a mapped group is mapped over, as soon as a ``task`` of it may run."""
        name = str(group.group_id)
        if name not in self.sizes and group.expand_input is not None:
            if self._verdict(task, UNMAPPED).action != "run":
                return "no task of the group may run"
            found = self.sizes[name] = self._lengths(name, group.expand_input)
            if not isinstance(found, str):
                self._multiply(group, prod(found))
        return self.sizes[name]

    def _multiply(self, group: TaskGroup, number: int) -> None:
        """Give the tasks of a group that have ended without having run an instance for each item, too."""
        for task in group.tasks():
            ended = self.tasks.get(task.task_id, ())
            for one in list(ended) if number else ():
                self.tasks[task.task_id] = [replace(one, map_index=map_index) for map_index in range(number)]

    def _run_at(self, task: BaseOperator, map_index: int, indexes: Sequence[int] | None, impossible: str = "") -> None:
        """Run a task, or its instance in a mapped group, if its trigger rule says so."""
        verdict = self._verdict(task, map_index)
        state = _STATE_OF_VERDICT.get(verdict.action)
        if state is not None:
            self._note(TaskResult(task.task_id, map_index, state, message=verdict.reason))
        elif impossible:
            # The first tasks of the group fail for it, and with them those that wait for any of the group.
            beside = {one.task_id for one in task.mapped_group.tasks()} if task.mapped_group is not None else set()
            failed = "upstream_failed" if task.upstream_task_ids & beside else "failed"
            self._note(TaskResult(task.task_id, map_index, failed, message=impossible))
        elif self.mark_success_pattern and re.search(self.mark_success_pattern, task.task_id):
            self._note(TaskResult(task.task_id, map_index, "success", message="marked as success, not run"))
        elif task.is_mapped:
            self._run_instances(task)
        else:
            self._note(self._try(task, map_index, indexes))

    def _verdict(self, task: BaseOperator, map_index: int) -> Verdict:
        """Return what becomes of a task, all before it being over; teardowns run even when the run is stopped."""
        if self.stopped and not task.is_teardown:
            return Verdict("skip", "a task failed in a DAG with fail_fast")
        for index in {map_index, UNMAPPED}:
            if (task.task_id, index) in self.skipped_by:
                return Verdict("skip", f"left out by {self.skipped_by[task.task_id, index]!r}")
        setups = self._seen_by(task, map_index, sorted(self.guards.get(task.task_id, ())))
        for ended, action in _ENDS_OF_SETUPS:
            for setup in setups:
                if setup.state in ended:
                    return Verdict(action, f"its setup {setup.name!r} is {setup.state}")
        return evaluate(task.trigger_rule, self._counts(task, map_index))

    def _run_instances(self, task: BaseOperator) -> None:
        """Run the instances of a mapped task."""
        lengths = self._lengths(task.task_id, task.expand_input)  # type: ignore[attr-defined]
        if isinstance(lengths, str):
            self._note(TaskResult(task.task_id, UNMAPPED, "failed", message=lengths))
            return
        self.supervisor.ran(task.task_id, prod(lengths))
        for map_index in range(prod(lengths)):
            self._note(self._try(task, map_index, indexes_of(map_index, lengths)))
        if not prod(lengths):
            self._note(TaskResult(task.task_id, UNMAPPED, "skipped", message=_NOTHING))

    def run_one(self, task: BaseOperator, map_index: int) -> TaskResult:
        """Run one try of one instance; the results of other tasks are those that the supervisor holds."""
        expand_input = getattr(task.mapped_group or task, "expand_input", None)
        if expand_input is None:
            return self._attempt(task, map_index, None, 1, retries=0)
        lengths = self._lengths(task.task_id, expand_input)
        if isinstance(lengths, str) or map_index >= prod(lengths):
            found = lengths if isinstance(lengths, str) else f"it has {prod(lengths)} instances here"
            raise LookupError(
                f"task {task.task_id!r} has no instance {map_index}: {found}; "
                "give the results it is mapped over as xcoms={task_id: value}"
            )
        return self._attempt(task, map_index, indexes_of(map_index, lengths), 1, retries=0)

    def _lengths(self, name: str, expand_input: ExpandInput) -> list[int] | str:
        """Return how many items each argument has that ``name`` is mapped over, or why that is not known."""
        lengths = []
        for argument in expand_input.document().arguments:
            length = length_of(argument, lambda one: self.supervisor.length(str(one.task_id), one.key))
            if length is None:
                unknown = next(
                    one for one in results_in(argument) if self.supervisor.length(str(one.task_id), one.key) is None
                )
                return (
                    f"cannot expand {name!r}: task {unknown.task_id!r} pushed no list or dict as XCom {unknown.key!r}"
                )
            lengths.append(length)
        return lengths

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
        ended = self._ended(task, workload)
        self.supervisor.keep(task.task_id, map_index, ended.xcoms)
        events = self._emitted(ended, task.task_id, map_index)
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
            asset_events=events,
        )

    def _ended(self, task: BaseOperator, workload: dict[str, Any]) -> AttemptResult:
        """Run an attempt to its end, through all that it waits for."""

        def attempt(**more: Any) -> AttemptResult:
            return attempt_here(self.dag, task.task_id, workload | more, self.supervisor, self.limits)

        kind = getattr(task, "operator_class", type(task))
        source = kind if task.is_mapped else task
        if source.start_from_trigger:
            start_of = importlib.import_module("treadle.runtime.deferring").start_of
            ended = AttemptResult("deferred", deferral=start_of(task, kind, source.start_trigger_args))
        else:
            ended = attempt()
        if ended.deferral is not None:
            # Loaded on need: few tasks wait, and asyncio is slow to load.
            wait_here = importlib.import_module("treadle.runtime.waiting_here").wait_here
            ended = wait_here(ended, lambda resume: attempt(resume=resume))
        while ended.resume is not None:
            time.sleep(max(0.0, (datetime.fromisoformat(ended.resume["at"]) - datetime.now(UTC)).total_seconds()))
            ended = attempt()
        return ended

    def _emitted(self, ended: AttemptResult, task_id: str, map_index: int) -> tuple[AssetEvent, ...]:
        """Keep the asset events of a success for the tasks after it, and return them."""
        if ended.outcome != "success" or not ended.asset_events:
            return ()
        source = {
            "source_dag_id": self.dag.dag_id,
            "source_task_id": task_id,
            "source_run_id": self.facts["run_id"],
            "source_map_index": map_index,
        }
        events = [stamped(one, source) for one in ended.asset_events]
        self.supervisor.asset_events += events
        # Loaded by the task that emitted them already.
        event_of = importlib.import_module("treadle.runtime.asset_events").event_of
        return tuple(map(event_of, events))

    def _seen_by(self, task: BaseOperator, map_index: int, task_ids: Iterable[str]) -> list[TaskResult]:
        """Return the instances of other tasks that count for one: within a mapped group those of the same index."""
        found: list[TaskResult] = []
        for task_id in task_ids:
            others = self.tasks[task_id]
            beside = map_index != UNMAPPED and self.dag.task_dict[task_id].mapped_group is task.mapped_group
            found += [others[map_index]] if beside else others
        return found

    def _counts(self, task: BaseOperator, map_index: int) -> UpstreamCounts:
        states = [one.state for one in self._seen_by(task, map_index, task.upstream_task_ids)]
        direct = [one for one in task.upstream_task_ids if self.dag.task_dict[one].is_setup]
        setups = [one.state for one in self._seen_by(task, map_index, direct)]
        return UpstreamCounts(
            total=len(states),
            success=states.count("success"),
            failed=states.count("failed"),
            skipped=states.count("skipped"),
            upstream_failed=states.count("upstream_failed"),
            done=len(states),
            setups_total=len(setups),
            setups_success=setups.count("success"),
            setups_skipped=setups.count("skipped"),
            setups_failed=setups.count("failed") + setups.count("upstream_failed"),
        )

    def _note(self, result: TaskResult) -> None:
        log.info("%s: %s%s", result.name, result.state, f" ({result.message})" if result.message else "")
        self.tasks.setdefault(result.task_id, []).append(result)
        if result.state == "success" and SKIPPED_TASKS in result.xcom_texts:
            self._leave_out(result, xcom.loads(result.xcom_texts[SKIPPED_TASKS]))

    def _leave_out(self, result: TaskResult, names: Iterable[str]) -> None:
        """Enter what a branch left out: within a mapped group its own instance, of tasks of the group alone."""
        group = self.dag.task_dict[result.task_id].mapped_group
        for name in names:
            if group is None:
                self.skipped_by[name, UNMAPPED] = result.name
            elif self.dag.task_dict[name].mapped_group is group:
                self.skipped_by[name, result.map_index] = result.name

    def result(self) -> DagTestResult:
        """Return the answer; the run's state is that of the tasks that none waits for, teardowns passed over."""
        leaves = deciding_leaves(self.dag.tasks, self._upstream)
        bad = any(one.state in ("failed", "upstream_failed") for task_id in leaves for one in self.tasks[task_id])
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
