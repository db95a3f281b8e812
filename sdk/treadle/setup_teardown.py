"""``@setup``, ``@teardown`` and the ``with`` blocks of setups: tasks that prepare, tasks that clean up.

Loaded when a file first uses them. A setup is torn down by the teardowns that wait for it directly. What lies between
is its scope (``treadle.scopes``): the scheduler runs a teardown when all of its scope has ended, however it ended, if
the setup succeeded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from treadle.authoring import enter_setup_scope, leave_setup_scope
from treadle.errors import DagError
from treadle.graph import connect_tasks, nodes_in
from treadle.operators.base import BaseOperator
from treadle.rules import TriggerRule
from treadle.task_groups import TaskGroup, TaskGroupFunction
from treadle.tasks import TaskFunction, task


def mark_setup(operator: BaseOperator) -> None:
    """Make ``operator`` a setup; DagError if it is a teardown."""
    _refuse_both(operator, operator.is_teardown)
    operator.is_setup = True


def mark_teardown(operator: BaseOperator, setups: Any, on_failure_fail_dagrun: bool) -> None:
    """Make ``operator`` a teardown that waits for ``setups``, and these setups; DagError if it is a setup."""
    _refuse_both(operator, operator.is_setup)
    operator.is_teardown = True
    operator.on_failure_fail_dagrun = on_failure_fail_dagrun
    # Whatever the DAG's default_args say: a teardown that another rule skips leaves things behind.
    operator.trigger_rule = TriggerRule.ALL_DONE_SETUP_SUCCESS
    for node in nodes_in(setups if setups is not None else []):
        for setup_task in node.leaves:
            mark_setup(setup_task)
            connect_tasks(setup_task, operator)


def _refuse_both(operator: BaseOperator, is_other: bool) -> None:
    if is_other:
        raise DagError(f"{operator!r} cannot be both setup and teardown", site=operator.site)


class SetupTeardownScope:
    """The tasks made inside ``with setup_task:``. They come after the setup and before its teardowns."""

    def __init__(self, operator: BaseOperator) -> None:
        self.operator = operator
        self._work: dict[str, BaseOperator] = {}

    def add_task(self, task: Any) -> None:
        """Put a task that was made elsewhere into the block."""
        for node in nodes_in(task):
            tasks = node.tasks() if isinstance(node, TaskGroup) else node.leaves
            self._work.update((one.task_id, one) for one in tasks)

    def add_scope(self, scope: SetupTeardownScope) -> None:
        """Put an inner block into this one, its setups and teardowns too."""
        for one in (*scope.setups, *scope.teardowns):
            self._work[one.task_id] = one

    @property
    def setups(self) -> list[BaseOperator]:
        """The setups whose scope this is."""
        if self.operator.is_setup:
            return [self.operator]
        return [one for one in self.operator.upstream_list if one.is_setup]

    @property
    def teardowns(self) -> list[BaseOperator]:
        """The teardowns that end the scope."""
        if self.operator.is_teardown:
            return [self.operator]
        return [one for one in self.operator.downstream_list if one.is_teardown]

    def connect(self) -> None:
        """Make the edges: setups before the first tasks of the block, teardowns after its last ones."""
        ends = {one.task_id for one in (*self.setups, *self.teardowns)}
        work = {task_id: one for task_id, one in self._work.items() if task_id not in ends}
        for one in work.values():
            if not one.upstream_task_ids & work.keys():
                _connect(self.setups, [one])
            if not one.downstream_task_ids & work.keys():
                _connect([one], self.teardowns)


def _connect(upstream: list[BaseOperator], downstream: list[BaseOperator]) -> None:
    for tail in upstream:
        for head in downstream:
            connect_tasks(tail, head)


def enter_scope(operator: BaseOperator) -> SetupTeardownScope:
    """Open ``with operator:``; DagError if it is neither setup nor teardown."""
    if not (operator.is_setup or operator.is_teardown):
        raise DagError(
            f"{operator!r} is neither setup nor teardown, so 'with' it means nothing; mark it with as_setup() or "
            "as_teardown(), or use a TaskGroup"
        )
    scope = SetupTeardownScope(operator)
    enter_setup_scope(scope)
    return scope


def leave_scope(failed: bool) -> None:
    """Close the innermost block and make its edges, unless the file failed inside it."""
    scope = leave_setup_scope()
    if not failed:
        scope.connect()


def setup(function: Callable[..., Any] | TaskFunction) -> TaskFunction:
    """Make each call of the function a setup task. Stands above ``@task`` or alone.

    Raises:
        DagError: it decorates something else, a task group for instance.
    """
    return _task_function("setup", function).marked(mark_setup)


@overload
def teardown(function: Callable[..., Any] | TaskFunction, /) -> TaskFunction: ...
@overload
def teardown(
    function: None = None, /, *, on_failure_fail_dagrun: bool = False
) -> Callable[[Callable[..., Any] | TaskFunction], TaskFunction]: ...
def teardown(function: Any = None, /, *, on_failure_fail_dagrun: bool = False) -> Any:
    """Make each call of the function a teardown task. Stands above ``@task`` or alone.

    ``on_failure_fail_dagrun``: its failure fails the run.

    Raises:
        DagError: it decorates something else, a task group for instance.
    """

    def mark(operator: BaseOperator) -> None:
        mark_teardown(operator, None, on_failure_fail_dagrun)

    def decorate(one: Any) -> TaskFunction:
        return _task_function("teardown", one).marked(mark)

    return decorate if function is None else decorate(function)


def _task_function(name: str, function: Any) -> TaskFunction:
    if isinstance(function, TaskFunction):
        return function
    if isinstance(function, TaskGroupFunction):
        raise DagError(f"@{name} cannot mark the task group {function.__name__!r}: mark tasks inside it")
    marked: TaskFunction = task(function)
    return marked
