"""``@task.run_if`` and ``@task.skip_if``: a condition, asked before the task runs, that may skip it.

The condition becomes part of the task's ``pre_execute`` hook, so it runs in the task's own process, with rendered
arguments, once per try. One that raises fails the try.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle.errors import DagError, SkipTask
from treadle.tasks import Condition, TaskFunction


def only_if(condition: Condition, wanted: bool, message: str | None) -> Callable[[TaskFunction], TaskFunction]:
    """Return the decorator that skips a task unless ``condition(context)`` is ``wanted``."""
    name = "run_if" if wanted else "skip_if"
    if not callable(condition):
        raise DagError(f"@task.{name} takes a function of the context, not {type(condition).__name__}")

    def decorate(function: TaskFunction) -> TaskFunction:
        if not isinstance(function, TaskFunction):
            raise DagError(f"@task.{name} stands above @task; it cannot decorate {type(function).__name__}")
        hook = _Hook(condition, wanted, message or f"@task.{name}", function.arguments.get("pre_execute"))
        return function.override(pre_execute=hook)

    return decorate


class _Hook:
    """The ``pre_execute`` hook: asks the condition, then calls the hook that was there before."""

    def __init__(self, condition: Condition, wanted: bool, message: str, then: Callable[[Any], Any] | None) -> None:
        self._condition = condition
        self._wanted = wanted
        self._message = message
        self._then = then

    def __call__(self, context: Any) -> None:
        answer = self._condition(context)
        holds, message = answer if isinstance(answer, tuple) else (answer, self._message)
        if bool(holds) is not self._wanted:
            raise SkipTask(message)
        if self._then is not None:
            self._then(context)
