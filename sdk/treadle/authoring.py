"""Which DAG and group the file is defining just now: what ``with DAG(...)`` and ``with TaskGroup(...)`` set.

Per thread, so that parsing in threads does not mix files. :func:`detached` is for the task runtime, which builds
operators that belong to a DAG without being added to it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.dags import DAG
    from treadle.operators.base import BaseOperator
    from treadle.setup_teardown import SetupTeardownScope
    from treadle.task_groups import TaskGroup


class _Scope(threading.local):
    def __init__(self) -> None:
        self.dags: list[DAG] = []
        self.groups: list[TaskGroup | None] = []
        self.registered: list[DAG] = []
        self.setup_scopes: list[SetupTeardownScope] = []
        self.detached = False


_scope = _Scope()


def current_dag() -> DAG | None:
    """Return the DAG whose ``with`` block is open, or None."""
    return _scope.dags[-1] if _scope.dags else None


def current_group() -> TaskGroup | None:
    """Return the task group whose ``with`` block is open, the DAG's root group, or None outside of all."""
    return _scope.groups[-1] if _scope.groups else None


def is_detached() -> bool:
    """Return whether operators made now stay out of their DAG (see :func:`detached`)."""
    return _scope.detached


def enter_dag(dag: DAG) -> None:
    """Open the ``with`` block of ``dag``."""
    _scope.dags.append(dag)
    _scope.groups.append(dag.task_group)


def leave_dag() -> None:
    """Close the innermost DAG's ``with`` block."""
    _scope.dags.pop()
    _scope.groups.pop()


def enter_group(group: TaskGroup) -> None:
    """Open the ``with`` block of ``group``."""
    _scope.groups.append(group)


def leave_group() -> None:
    """Close the innermost group's ``with`` block."""
    _scope.groups.pop()


def note_task(task: BaseOperator) -> None:
    """Put a new task into the innermost open ``with setup_task:`` block, if there is one."""
    if _scope.setup_scopes:
        _scope.setup_scopes[-1].add_task(task)


def enter_setup_scope(scope: SetupTeardownScope) -> None:
    """Open the ``with`` block of a setup or teardown; the block around it holds it as a part of its work."""
    if _scope.setup_scopes:
        _scope.setup_scopes[-1].add_scope(scope)
    _scope.setup_scopes.append(scope)


def leave_setup_scope() -> SetupTeardownScope:
    """Close the innermost ``with`` block of a setup or teardown, and return what it holds."""
    return _scope.setup_scopes.pop()


def register(dag: DAG) -> None:
    """Remember ``dag`` for whoever collects the DAGs of this file, although no global name may hold it."""
    if not any(one is dag for one in _scope.registered):
        _scope.registered.append(dag)


def reset() -> None:
    """Forget open ``with`` blocks and registered DAGs: a new file begins."""
    _scope.dags.clear()
    _scope.groups.clear()
    _scope.setup_scopes.clear()
    _scope.registered.clear()


def take_registered() -> list[DAG]:
    """Return the DAGs registered so far and forget them."""
    found, _scope.registered = _scope.registered, []
    return found


@contextmanager
def detached() -> Iterator[None]:
    """Build operators that are not added to any DAG; their task ids are taken as they are, without group prefix."""
    before, _scope.detached = _scope.detached, True
    try:
        yield
    finally:
        _scope.detached = before
