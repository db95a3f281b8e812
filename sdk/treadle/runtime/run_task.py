"""Runs one attempt of one task in this process, from its workload to its result.

Worker children call :func:`run_attempt`; ``dag.test()`` and ``tasks test`` call :func:`attempt_here`. The order of one
try is that of airflow-surface 1.3: fetch results, render, ``pre_execute``, ``on_execute_callback``, ``execute``,
``post_execute``, push, then the callbacks of the outcome. Whatever user code does becomes an :class:`AttemptResult`;
nothing is stored before that is handed back, so a crash leaves no half of an attempt.
"""

from __future__ import annotations

import copy
import importlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from treadle.errors import TaskEnd, TaskTerminated
from treadle.runtime import current, masking
from treadle.runtime.calling import call_with_context
from treadle.runtime.context import Context, Facts
from treadle.runtime.deferring import Resume, report_of
from treadle.runtime.interruptions import call_on_kill, terminable, time_limit
from treadle.runtime.outcomes import SUCCESS, Ending, ending_of, traceback_of
from treadle.runtime.rendering import Renderer, has_template
from treadle.runtime.results import push_result
from treadle.runtime.showing import shown_fields, storable_text
from treadle.runtime.supervisor import AttemptResult, Supervisor
from treadle.runtime.task_instance import DagRun, TaskInstance
from treadle.runtime.upstream import Results
from treadle.triggers.deferral import TaskDeferred

if TYPE_CHECKING:
    from treadle.dags import DAG
    from treadle.operators.base import BaseOperator

Workload = Mapping[str, Any]
"""``treadle_worker.protocol.Workload``; the SDK cannot import it."""

MAX_MAP_INDEX_TEXT: Final = 250
"""Characters of a rendered ``map_index_template``."""

log = logging.getLogger("treadle.task")


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes that an attempt must keep to."""

    xcom_max_bytes: int = 16 * 1024 * 1024
    rendered_field_max_bytes: int = 4096


def run_attempt(dag: DAG, task_id: str, workload: Workload, supervisor: Supervisor, limits: Limits) -> AttemptResult:
    """Run one attempt in a process of its own: SIGTERM calls ``on_kill`` and ends it.

    Never raises for what user code does.
    """
    attempt = Attempt(dag, task_id, workload, supervisor, limits)
    with terminable(attempt.on_kill):
        return attempt.run()


def attempt_here(dag: DAG, task_id: str, workload: Workload, supervisor: Supervisor, limits: Limits) -> AttemptResult:
    """Run one attempt for a test: signals of this process are left as they are, ``test_mode`` is True."""
    return Attempt(dag, task_id, workload, supervisor, limits, test_mode=True).run()


class Attempt:
    """One attempt while it runs."""

    def __init__(
        self,
        dag: DAG,
        task_id: str,
        workload: Workload,
        supervisor: Supervisor,
        limits: Limits,
        *,
        test_mode: bool = False,
    ) -> None:
        self._workload = workload
        self._test_mode = test_mode
        self._supervisor = supervisor
        self._limits = limits
        self._defined = dag.get_task(task_id)
        self._dag = dag
        dag_run = DagRun(dag.dag_id, workload["run"])
        self._ti = TaskInstance(dag, self._defined, dag_run, workload, supervisor, xcom_max_bytes=limits.xcom_max_bytes)
        self._context = Context(Facts(dag, self._ti, dag_run, supervisor, test_mode))
        self._results = Results(
            supervisor,
            lambda: self._context["params"],
            self._defined.mapped_group,
            workload["map_index"],
            workload.get("expand_index"),
        )
        self._renderer = self._renderer_of(self._defined)
        self._resume = Resume.of(workload)
        self._result = AttemptResult(outcome="failed")

    def on_kill(self) -> None:
        """Call the ``on_kill`` of the task as it runs now."""
        self._ti.task.on_kill()

    def run(self) -> AttemptResult:
        """Run it; whatever user code raises becomes the result's outcome."""
        with current.attempt(self._supervisor, self._context), _environment(self._ti, self._defined.owner):
            try:
                self._execute()
                ending = SUCCESS
            except TaskDeferred as deferred:
                ending = self._deferred(deferred)
            except KeyboardInterrupt as raised:
                if self._test_mode:  # a person stops the test, not one task of it
                    call_on_kill(self.on_kill)
                    raise
                ending = self._ended_by(raised)
            except BaseException as raised:
                ending = self._ended_by(raised)
            self._finish(ending)
        return self._result

    def _execute(self) -> None:
        task = self._prepare()
        if task.pre_execute_hook is not None:
            task.pre_execute_hook(self._context)
        task.pre_execute(self._context)
        resume, limit = self._resume, task.execution_timeout
        if resume is None:
            self._call_back("on_execute_callback", task.on_execute_callback)
        with time_limit(limit, task.on_kill, left=limit if resume is None else resume.time_left(limit)):
            if resume is None:
                value = task.execute(self._context)
            else:
                if resume.words is not None:
                    log.info("%s", resume.words)
                value = task.resume_execution(resume.method, dict(resume.kwargs), self._context)
        if task.post_execute_hook is not None:
            task.post_execute_hook(self._context, value)
        task.post_execute(self._context, value)
        push_result(self._ti, task, value)
        if task.outlets:
            self._result.asset_events = self._context["outlet_events"].reported()

    def _prepare(self) -> BaseOperator:
        """Return this attempt's operator, its arguments filled in: a copy, so that the next try starts afresh."""
        defined = self._defined
        if defined.is_mapped:
            task = self._unmapped(defined)
        else:
            self._results.fetch(defined)
            task = copy.copy(defined)
        self._ti.task = task
        self._result.rendered_fields = shown_fields(
            self._renderer.render_fields(task), self._limits.rendered_field_max_bytes
        )
        self._render_map_index(final=False)
        return task

    def _unmapped(self, mapped: Any) -> BaseOperator:
        indexes = self._workload.get("expand_index")
        if indexes is None:
            indexes = self._results.indexes_of(mapped.expand_input, self._ti.map_index)
        self._results.fetch_items(mapped, indexes)
        task: BaseOperator = mapped.unmap(mapped.expand_input.values_at(indexes, self._results))
        self._renderer = self._renderer_of(task)
        return task

    def _renderer_of(self, task: BaseOperator) -> Renderer:
        native = task.render_template_as_native_obj
        return Renderer(
            self._dag,
            self._context,
            self._results,
            native=self._dag.render_template_as_native_obj if native is None else native,
        )

    def _ended_by(self, raised: BaseException) -> Ending:
        ending = ending_of(raised)
        self._context["exception"] = raised
        if ending.outcome == "suspended":
            log.info("The task is suspended: %s", raised)
        elif ending.outcome == "skipped":
            log.info("The task was skipped: %s", raised)
        elif isinstance(raised, TaskEnd):
            log.error("The task failed: %s", raised)
        else:
            log.error("The task failed: %s", traceback_of(raised))
        return ending

    def _deferred(self, deferred: TaskDeferred) -> Ending:
        """Return the ending of an attempt that waits for a trigger; one that cannot be stored fails."""
        try:
            deferral = report_of(deferred, self._ti.task)
        except Exception as error:
            return self._ended_by(error)
        log.info("The task is deferred: it waits for %s and goes on in %s", deferral["classpath"], deferred.method_name)
        return Ending("deferred", deferral=deferral)

    def _retried(self, ending: Ending) -> Ending:
        """Return the ending that the task's retry policy makes of one that has tries left."""
        policy = self._ti.task.retry_policy
        if policy is None or self._callback_name(ending.outcome) != "on_retry_callback":
            return ending
        # Loaded on need: few tasks have a policy, and few attempts fail.
        decided = importlib.import_module("treadle.runtime.retrying").decided
        ending, delay = decided(ending, policy, self._context["exception"], self._ti, self._context)
        self._result.retry_delay_seconds = delay
        return ending

    def _finish(self, ending: Ending) -> None:
        result = self._result
        if ending.resume is not None:  # it is not over: nothing is pushed, and nobody called back
            result.outcome, result.resume = ending.outcome, ending.resume
            return
        if ending.deferral is not None:  # it goes on later; what it pushed so far can be read meanwhile
            result.outcome, result.deferral = ending.outcome, ending.deferral
            result.xcoms, result.links = self._ti.pushed(), self._links()
            return
        ending = self._retried(ending)
        result.outcome, result.error, result.exit_code = ending.outcome, ending.error, ending.exit_code
        result.xcoms, result.links = self._ti.pushed(), self._links()
        self._render_map_index(final=True)
        name = self._callback_name(ending.outcome)
        self._ti.state = {"on_success_callback": "success", "on_skipped_callback": "skipped"}.get(
            name, "up_for_retry" if name == "on_retry_callback" else "failed"
        )
        self._call_back_once(name, getattr(self._ti.task, name))

    def _links(self) -> dict[str, str] | None:
        """Return the addresses of the task's links, if it has any: they lead to what it did, however it ended."""
        task = self._ti.task
        links = vars(task).get("operator_extra_links", type(task).operator_extra_links)
        if links == () or task is self._defined:  # it has none, or did not come to be one of its own
            return None
        # Loaded on need: few operators have links.
        made: dict[str, str] = importlib.import_module("treadle.runtime.links").made_links(task, self._ti)
        return made or None

    def _callback_name(self, outcome: str) -> str:
        if outcome == "success":
            return "on_success_callback"
        if outcome == "skipped":
            return "on_skipped_callback"
        may_retry = outcome == "failed" and self._ti.try_number <= self._ti.max_tries
        return "on_retry_callback" if may_retry else "on_failure_callback"

    def _call_back_once(self, name: str, callbacks: Sequence[Callable[[Any], Any]]) -> None:
        """Call the callbacks of the attempt's end, unless the server has taken them on: it was ended from outside."""
        try:
            self._result.called_back = not callbacks or self._supervisor.take_callbacks()
        except Exception as error:
            # The server, which learns that they were not called, sees to them.
            log.error("%s is left to the server: %s", name, error)
            return
        if self._result.called_back:
            self._call_back(name, callbacks)

    def _call_back(self, name: str, callbacks: Sequence[Callable[[Any], Any]]) -> None:
        for callback in callbacks:
            try:
                call_with_context(callback, self._context)
            except TaskTerminated:
                log.error("%s was told to stop", name)
                return
            except (Exception, SystemExit):
                log.exception("%s failed; the task's state is not changed by it", name)

    def _render_map_index(self, *, final: bool) -> None:
        """Render ``map_index_template``: once the arguments are there, and again at the end, when more is known."""
        template = self._defined.map_index_template
        if template is None:
            return
        try:
            text = str(self._renderer.render_text(template)) if has_template(template) else template
            self._result.rendered_map_index = storable_text(masking.mask(text))[:MAX_MAP_INDEX_TEXT]
        except Exception as error:
            # Names that execute() adds to the context are there only at the end.
            if final:
                log.warning("map_index_template %r could not be rendered: %s", template, error)


@contextmanager
def _environment(ti: TaskInstance, owner: str) -> Iterator[None]:
    """Tell programs that the task starts which attempt they serve, as ``TREADLE_CTX_*``."""
    date = ti.dag_run.logical_date
    facts = {
        "TREADLE_CTX_DAG_ID": ti.dag_id,
        "TREADLE_CTX_DAG_OWNER": owner,
        "TREADLE_CTX_TASK_ID": ti.task_id,
        "TREADLE_CTX_DAG_RUN_ID": ti.run_id,
        "TREADLE_CTX_LOGICAL_DATE": date.isoformat() if date is not None else "",
        "TREADLE_CTX_TRY_NUMBER": str(ti.try_number),
        "TREADLE_CTX_MAP_INDEX": str(ti.map_index),
    }
    before = {name: os.environ.get(name) for name in facts}
    os.environ.update(facts)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
