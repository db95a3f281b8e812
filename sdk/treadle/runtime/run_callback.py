"""Calls users' callbacks that no task of theirs can call: of a run's end, of an attempt that was killed, of a deadline.

A child of the DAG's template calls :func:`run_callback` with a workload that has ``callback``; ``dag.test()`` calls
:func:`call_run_callbacks`. What a callback raises makes this one callback failed, and nothing else. All callbacks of a
list are called, whatever those before them did.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from treadle.errors import AttemptLost, TaskTerminated, TaskTimeout
from treadle.params import merged_params
from treadle.runtime import current
from treadle.runtime.calling import call_deadline, call_with_context
from treadle.runtime.context import Context, Facts
from treadle.runtime.interruptions import terminable, time_limit
from treadle.runtime.outcomes import error_of, traceback_of
from treadle.runtime.run_task import Limits
from treadle.runtime.supervisor import AttemptResult, Supervisor
from treadle.runtime.task_instance import DagRun, TaskInstance, moment

if TYPE_CHECKING:
    from treadle.dags import DAG

_OF_TASKS: Final = {
    "ti",
    "task_instance",
    "task",
    "try_number",
    "map_index_template",
    "task_instance_key_str",
    "templates_dict",
    "inlets",
    "outlets",
    "inlet_events",
    "outlet_events",
}
_ERRORS: Final[Mapping[str, type[BaseException]]] = {"timeout": TaskTimeout, "terminated": TaskTerminated}

log = logging.getLogger("treadle.task")


class RunContext(Context):
    """The context of what is about a run and no task: what tells of a task is not in it."""

    def __init__(self, dag: DAG, dag_run: DagRun, supervisor: Supervisor, *, test_mode: bool = False) -> None:
        self._facts = Facts(dag, cast("TaskInstance", None), dag_run, supervisor, test_mode)
        self._values = {"dag_run": dag_run, "params": merged_params(dag.params, {}, dag_run.conf).dump()}

    def __getitem__(self, key: str) -> Any:
        if key in _OF_TASKS:
            raise KeyError(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        return key not in _OF_TASKS and super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        return (key for key in super().__iter__() if key not in _OF_TASKS)

    def __repr__(self) -> str:
        return f"<Context of {self._facts.dag_run!r}>"


def call_in_thread(dag: DAG, workload: Mapping[str, Any], supervisor: Supervisor) -> dict[str, str] | None:
    """Call the callbacks that ``workload`` is about, in a thread of a triggerer; return the error, if there is one.

    Only one such call at a time: which attempt a process runs is known to it as a whole.
    """
    try:
        context = _context(dag, workload, supervisor, Limits())
        calls = _calls(dag, workload, context)
        with current.attempt(supervisor, context):
            raised = _call_all(calls)
    except BaseException as error:
        log.error("The callback failed: %s", traceback_of(error))
        raised = error
    return None if raised is None else error_of("exception", raised)


def run_callback(dag: DAG, workload: Mapping[str, Any], supervisor: Supervisor, limits: Limits) -> AttemptResult:
    """Call the callbacks that ``workload`` is about, in a process of their own.

    Never raises for what user code does.
    """
    told = workload["callback"]
    limit = timedelta(seconds=told["limit"])
    raised: BaseException | None = None
    try:
        context = _context(dag, workload, supervisor, limits)
        calls = _calls(dag, workload, context)
        with terminable(_nothing), current.attempt(supervisor, context), time_limit(limit, _nothing):
            raised = _call_all(calls)
    except TaskTimeout:
        raised = TaskTimeout(f"the callback took longer than {limit} ({limit.total_seconds():g} s)")
    except BaseException as error:
        log.error("The callback failed: %s", traceback_of(error))
        raised = error
    if raised is None:
        return AttemptResult("success", called_back=True)
    kind = next((kind for kind, error in _ERRORS.items() if isinstance(raised, error)), "exception")
    return AttemptResult("failed", error=error_of(kind, raised), called_back=True)


def _call_all(calls: Sequence[Callable[[], None]]) -> BaseException | None:
    first: BaseException | None = None
    for call in calls:
        try:
            call()
        except (Exception, SystemExit) as error:
            log.error("The callback failed: %s", traceback_of(error))
            first = first or error
    return first


def _nothing() -> None:
    """A callback has no ``on_kill``."""


def _calls(dag: DAG, workload: Mapping[str, Any], context: Context) -> list[Callable[[], None]]:
    told = workload["callback"]
    if told["event"] == "deadline":
        position = told["position"]
        if position >= len(dag.deadline):
            raise LookupError(f"DAG {dag.dag_id!r} has {len(dag.deadline)} deadlines now; this was its {position + 1}.")
        return [lambda: call_deadline(dag.deadline[position].callback, context)]
    owner, _, end = told["event"].partition("_")
    subject = dag.get_task(workload["task_id"]) if owner == "task" else dag
    callbacks: Sequence[Callable[[Any], Any]] = getattr(subject, f"on_{end}_callback")
    return [lambda one=one: call_with_context(one, context) for one in callbacks]  # type: ignore[misc]


def _context(dag: DAG, workload: Mapping[str, Any], supervisor: Supervisor, limits: Limits) -> Context:
    told = workload["callback"]
    facts = told["facts"]
    of_task = told["event"].startswith("task_")
    dag_run = DagRun(dag.dag_id, workload["run"])
    if not of_task:
        dag_run.state, dag_run.end_date = facts["state"], moment(facts.get("ended_at"))
    context: Context
    if workload["task_id"] and dag.has_task(workload["task_id"]):
        task = dag.get_task(workload["task_id"])
        ti = TaskInstance(dag, task, dag_run, workload, supervisor, xcom_max_bytes=limits.xcom_max_bytes)
        ti.state = facts["state"]
        context = Context(Facts(dag, ti, dag_run, supervisor, False))
    else:
        context = RunContext(dag, dag_run, supervisor)
    if of_task:
        context["exception"] = _exception(facts.get("error") or {})
    elif told["event"] == "deadline":
        context["deadline"] = _deadline(facts["deadline"])
    else:
        context["reason"] = facts["reason"]
    return context


def _exception(error: Mapping[str, Any]) -> BaseException:
    """Return what stands for what ended an attempt from outside."""
    return _ERRORS.get(error.get("kind", ""), AttemptLost)(error.get("message", "the attempt ended without a report"))


def _deadline(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **facts,
        "deadline_time": moment(facts["deadline_time"]),
        "base_time": moment(facts["base_time"]),
    }


def call_run_callbacks(dag: DAG, facts: Mapping[str, Any], state: str, supervisor: Supervisor) -> None:
    """Call the callbacks of a run's end for a test, in this process."""
    callbacks = dag.on_success_callback if state == "success" else dag.on_failure_callback
    if not callbacks:
        return
    dag_run = DagRun(dag.dag_id, facts)
    dag_run.state = state
    context = RunContext(dag, dag_run, supervisor, test_mode=True)
    context["reason"] = "success" if state == "success" else "task_failure"
    with current.attempt(supervisor, context):
        _call_all([lambda one=one: call_with_context(one, context) for one in callbacks])  # type: ignore[misc]
