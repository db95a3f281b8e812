"""Between ``self.defer(...)`` and the method that goes on: what is reported of a wait, and what comes back of it.

The task runtime calls it, with plain data on the outer side: the report of an attempt that ``deferred``, and
``resume`` of the workload that goes on. A crash between the two loses nothing: the server holds the wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from treadle import xcom
from treadle.errors import DagError, SkipTask, XComTypeError
from treadle.runtime.task_instance import moment
from treadle.triggers.deferral import END, FAIL, TaskDeferralError, TaskDeferred

if TYPE_CHECKING:
    from treadle.operators.base import BaseOperator
    from treadle.triggers.deferral import StartTriggerArgs


@dataclass(frozen=True, slots=True)
class Resume:
    """What an attempt goes on with: ``method`` of the operator with ``kwargs``, and when the try first started."""

    method: str
    kwargs: Mapping[str, Any]
    first_started_at: datetime | None

    @classmethod
    def of(cls, workload: Mapping[str, Any]) -> Resume | None:
        """Return what the workload goes on with, None if it begins."""
        plain = workload.get("resume")
        if plain is None:
            return None
        started = moment(plain["first_started_at"])
        error = plain.get("error")
        if error is not None:
            return cls(END if error["kind"] == "end" else FAIL, error, started)
        kwargs = xcom.loads(plain["kwargs"])
        event = plain.get("event")
        return cls(plain["method"], {**kwargs, "event": None if event is None else xcom.loads(event)}, started)

    @property
    def words(self) -> str | None:
        """What the task's log says of it; None of a failure, which says itself what it is."""
        if self.method == END:
            return f"The trigger has ended the task: {self.kwargs['outcome']}"
        return None if self.method == FAIL else f"The event has come: the task goes on in {self.method}"

    def time_left(self, limit: timedelta | None) -> timedelta | None:
        """Return what is left of an execution timeout, which spans deferrals (case D1)."""
        if limit is None or self.first_started_at is None:
            return limit
        return limit - (datetime.now(UTC) - self.first_started_at)


def report_of(deferred: TaskDeferred, task: BaseOperator) -> dict[str, Any]:
    """Return the wait as the server stores it (``treadle_worker.protocol.Deferral``).

    Raises:
        TypeError: the trigger gives no path and arguments, or the operator has no such method.
        XComTypeError: an argument cannot be carried.
    """
    if not callable(getattr(task, deferred.method_name, None)):
        raise TypeError(
            f"{task!r} deferred with method_name={deferred.method_name!r}, which {task.task_type} does not have"
        )
    classpath, kwargs = trigger_of(deferred.trigger)
    limit = task.execution_timeout
    return {
        "classpath": classpath,
        "kwargs": kwargs,
        "weight": max(1, int(deferred.trigger.weight)),
        "next_method": deferred.method_name,
        "next_kwargs": xcom.dumps(deferred.kwargs, key="kwargs of defer()")[0],
        "timeout_seconds": None if deferred.timeout is None else deferred.timeout.total_seconds(),
        "execution_timeout_seconds": None if limit is None else limit.total_seconds(),
        "ends_in_worker": ends_in_worker(task),
    }


def start_of(task: BaseOperator, kind: type[BaseOperator], args: StartTriggerArgs | None) -> dict[str, Any]:
    """Return the wait with which a task starts, as its document has it.

    Raises:
        DagError: there are no arguments, the operator has no such method, or a value cannot be carried.
    """
    if args is None:
        raise DagError(f"{task!r} has start_from_trigger, but no start_trigger_args", site=task.site)
    if not callable(getattr(kind, args.next_method, None)):
        fact = f"{task!r}: start_trigger_args name next_method={args.next_method!r}, which {task.task_type} has not"
        raise DagError(fact, site=task.site)
    try:
        kwargs = xcom.dumps(dict(args.trigger_kwargs), key="trigger_kwargs")[0]
        next_kwargs = xcom.dumps(dict(args.next_kwargs), key="next_kwargs")[0]
    except XComTypeError as error:
        raise DagError(f"{task!r}: {error}", site=task.site) from None
    return {
        "classpath": args.trigger_cls,
        "kwargs": kwargs,
        "weight": 1,
        "next_method": args.next_method,
        "next_kwargs": next_kwargs,
        "timeout_seconds": None if args.timeout is None else args.timeout.total_seconds(),
        "execution_timeout_seconds": None if task.execution_timeout is None else task.execution_timeout.total_seconds(),
        "ends_in_worker": ends_in_worker(task),
    }


def ends_in_worker(task: BaseOperator) -> bool:
    """Tell whether the end of a task needs its own code: a trigger that ends it leaves that to a worker (case D2)."""
    callbacks = (task.on_success_callback, task.on_failure_callback, task.on_retry_callback, task.on_skipped_callback)
    return any((*callbacks, task.outlets, task.retry_policy, task.post_execute_hook, task.operator_extra_links))


def ended_by(facts: Mapping[str, Any], context: Any) -> Any:
    """End the attempt of a task as its trigger said; return the result of a success.

    Raises:
        SkipTask: it is skipped.
        TaskDeferralError: its try failed.
    """
    reason = facts.get("reason") or ""
    if facts["outcome"] == "skipped":
        raise SkipTask(reason or "the trigger says so")
    if facts["outcome"] == "failed":
        raise TaskDeferralError(reason or "the trigger ended the task as failed")
    pushed = {key: xcom.loads(text) for key, text in facts["xcoms"].items()}
    result = pushed.pop(xcom.RETURN_KEY, None)
    for key, value in pushed.items():
        context["ti"].xcom_push(key, value)
    return result


def trigger_of(trigger: Any) -> tuple[str, str]:
    """Return a trigger's path and the text of its arguments.

    Raises:
        TypeError: ``serialize()`` returned something else.
        XComTypeError: an argument cannot be carried.
    """
    serialized = trigger.serialize()
    match serialized:
        case (str() as classpath, dict() as kwargs) if classpath.rpartition(".")[0]:
            return classpath, xcom.dumps(kwargs, key=f"arguments of {classpath}")[0]
    raise TypeError(
        f"serialize() of {type(trigger).__name__} must return the path of the class, with its module, and a dict of "
        f"arguments; it returned {serialized!r:.200}"
    )
