"""Tasks that decide which of the tasks after them run: branches and short circuits.

What they leave out is worked out by ``treadle.skipping`` in the task's own process and leaves with the attempt's
result, so that an attempt that dies has skipped nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from treadle import skipping
from treadle.operators.base import BaseOperator
from treadle.operators.python import PythonOperator

Choice = str | Iterable[str] | None
"""What a branch chooses: ids of tasks or groups; None for none of them."""


class BaseBranchOperator(BaseOperator):
    """Runs the tasks that ``choose_branch`` names, and skips the others that wait for this task directly.

    A chosen task need not stand right after this one: what lies on the way to it is not skipped. A group's id stands
    for its first tasks. The choice is the task's XCom.
    """

    can_skip: ClassVar[bool] = True

    def choose_branch(self, context: Any) -> Choice:
        """Return the ids of the tasks or groups to go on with; None to skip all that wait for this task directly."""
        raise NotImplementedError(f"{type(self).__name__} defines no choose_branch(context)")

    def execute(self, context: Any) -> Any:
        """Choose, and name the tasks to skip."""
        return follow(self, context, self.choose_branch(context))


class BranchPythonOperator(PythonOperator):
    """Calls a function that returns the ids of the tasks or groups to go on with; the others are skipped."""

    can_skip: ClassVar[bool] = True

    def execute(self, context: Any) -> Any:
        """Call the function, and name the tasks to skip."""
        return follow(self, context, super().execute(context))


class ShortCircuitOperator(PythonOperator):
    """Calls a function; if what it returns is false, all tasks after this one are skipped, except teardowns.

    With ``ignore_downstream_trigger_rules=False`` only those that wait for this task directly are skipped at once; the
    tasks after them follow their own trigger rules.
    """

    can_skip: ClassVar[bool] = True

    def __init__(self, *, ignore_downstream_trigger_rules: bool = True, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.ignore_downstream_trigger_rules = ignore_downstream_trigger_rules

    def execute(self, context: Any) -> Any:
        """Call the function, and name the tasks to skip if it says no."""
        condition = super().execute(context)
        if not condition:
            left_out = skipping.everything_after(self, direct_only=not self.ignore_downstream_trigger_rules)
            context["ti"].skip_tasks(left_out)
            self.log.info("The condition is %r: skipping %s", condition, ", ".join(left_out) or "nothing")
        return condition


class BranchDecoratedOperator(BranchPythonOperator):
    """``@task.branch``."""

    custom_operator_name = "@task.branch"


class ShortCircuitDecoratedOperator(ShortCircuitOperator):
    """``@task.short_circuit``."""

    custom_operator_name = "@task.short_circuit"


def follow(task: BaseOperator, context: Any, choice: Any) -> Any:
    """Name the tasks that are skipped because ``choice`` leaves them out; return the choice.

    Raises:
        BranchError: the choice is no id of a task or group of the DAG.
    """
    left_out = skipping.not_chosen(task, skipping.chosen_tasks(task, choice))
    context["ti"].skip_tasks(left_out)
    task.log.info("Following %s; skipping %s", choice or "nothing", ", ".join(left_out) or "nothing")
    return choice
