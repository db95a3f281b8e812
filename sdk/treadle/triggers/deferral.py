"""How a task says that it waits: ``self.defer(...)`` raises TaskDeferred, and the task runtime reports it.

The worker is free from then on. When the event comes, a worker calls ``method_name`` of the operator, made anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from treadle.errors import TaskTimeout, TreadleError

if TYPE_CHECKING:
    from treadle.triggers.base import BaseTrigger

FAIL: Final = "__fail__"
"""The ``next_method`` of a task whose trigger brought no event: it failed, or the time was over."""

END: Final = "__end__"
"""The ``next_method`` of a task whose trigger ended it, and whose callbacks, outlets or retry policy need a worker."""

TIMED_OUT: Final = "timeout"
"""The kind of error of a deferral that took longer than its ``timeout``."""

OUT_OF_TIME: Final = "execution_timeout"
"""The kind of error of a task whose ``execution_timeout`` was over while it was deferred (case D1)."""


class TaskDeferralError(TreadleError):
    """The trigger that a task waited for failed: it raised, blocked its triggerer or could not be made."""


class TaskDeferralTimeout(TaskDeferralError):
    """No event came within the deferral's ``timeout``."""


class TaskDeferred(BaseException):
    """The attempt ends here, and the task goes on in ``method_name`` once ``trigger`` has brought an event.

    No Exception, so that ``except Exception`` lets it pass. ``kwargs`` are further arguments of the method, carried
    like XComs; ``timeout`` counts from now to the event.
    """

    def __init__(
        self,
        *,
        trigger: BaseTrigger,
        method_name: str,
        kwargs: Mapping[str, Any] | None = None,
        timeout: timedelta | float | None = None,
    ) -> None:
        super().__init__(f"the task waits for {trigger!r}, and goes on in {method_name}")
        self.trigger = trigger
        self.method_name = method_name
        self.kwargs = dict(kwargs or {})
        self.timeout = timedelta(seconds=timeout) if isinstance(timeout, (int, float)) else timeout


@dataclass(frozen=True, slots=True)
class StartTriggerArgs:
    """How a task with ``start_from_trigger`` is deferred before any worker has started it."""

    trigger_cls: str
    """The path of the trigger's class."""
    next_method: str
    trigger_kwargs: Mapping[str, Any] = field(default_factory=dict)
    next_kwargs: Mapping[str, Any] = field(default_factory=dict)
    timeout: timedelta | None = None


def error_of(facts: Mapping[str, Any]) -> BaseException:
    """Return what a task raises that goes on without an event: ``facts`` are ``kind``, ``error`` and ``traceback``."""
    sentence, kind = str(facts.get("error", "")), facts.get("kind")
    if kind == OUT_OF_TIME:
        return TaskTimeout(sentence)
    if kind == TIMED_OUT:
        return TaskDeferralTimeout(sentence)
    error = TaskDeferralError(sentence)
    if facts.get("traceback"):
        error.add_note(f"in the triggerer:\n{facts['traceback']}")
    return error
