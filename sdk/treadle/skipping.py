"""Which tasks a branch or a short circuit leaves out. Pure; asked by operators in the task's own process.

The answer is handed on as the XCom ``document.SKIPPED_TASKS``: the scheduler, and ``dag.test()``, end the named tasks
as skipped whatever their trigger rule says. Teardowns are never named: what was set up is torn down. The rules are
those of airflow-surface 1.10.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from treadle.errors import BranchError
from treadle.wording import shown

if TYPE_CHECKING:
    from treadle.dags import DAG
    from treadle.operators.base import BaseOperator


def chosen_tasks(task: BaseOperator, choice: object) -> set[str]:
    """Return the ids of the tasks that ``choice`` names: one id, several, or None; a group's id stands for its roots.

    Raises:
        BranchError: it is neither, or the DAG has no such task or group.
    """
    if choice is None:
        return set()
    names = [choice] if isinstance(choice, str) else choice
    if not isinstance(names, (list, tuple, set, frozenset)) or not all(isinstance(one, str) for one in names):
        raise BranchError(task.task_id, f"chose {shown(choice)} ({type(choice).__name__})", "a task id, a list or None")
    dag = _dag_of(task)
    found: set[str] = set()
    for name in sorted(names):
        if name in dag.task_dict:
            found.add(name)
        elif name in dag.task_groups:
            found.update(root.task_id for root in dag.task_groups[name].roots)
        else:
            known = [*dag.task_dict, *dag.task_groups]
            raise BranchError(task.task_id, f"chose {shown(name)}", "the full id of a task or group", name, known)
    return found


def not_chosen(task: BaseOperator, chosen: Iterable[str]) -> list[str]:
    """Return the direct downstream tasks of ``task`` that are neither chosen nor after one that is, sorted."""
    dag = _dag_of(task)
    kept = set(chosen)
    for one in list(kept):
        kept.update(after.task_id for after in dag.task_dict[one].get_flat_relatives())
    return sorted(one.task_id for one in task.downstream_list if one.task_id not in kept and not one.is_teardown)


def everything_after(task: BaseOperator, *, direct_only: bool) -> list[str]:
    """Return all tasks after ``task``, or only those that wait for it directly, sorted."""
    after = task.downstream_list if direct_only else task.get_flat_relatives()
    return sorted(one.task_id for one in after if not one.is_teardown)


def _dag_of(task: BaseOperator) -> DAG:
    if task.dag is None:
        raise BranchError(task.task_id, "belongs to no DAG", "a task of a DAG: it chooses between the tasks after it")
    return task.dag
