"""Setups and teardowns of a DAG document: the rules of ``treadle.scopes``, as indexes of tasks and for clearing.

A setup's scope is what lies between it and its teardown. Computed once for each version (cases A39, A40).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from treadle.document import DagDocument
from treadle.scopes import awaited_by_teardowns, deciding_leaves, guarding_setups, scopes


@dataclass(frozen=True, slots=True)
class Scopes:
    """The waits that setups and teardowns add to a DAG, by the index of each task in the document."""

    guards: Mapping[int, tuple[int, ...]]
    """For a task in the scope of setups that it does not wait for directly: those setups; each must have succeeded."""
    work: Mapping[int, tuple[int, ...]]
    """For a teardown: the tasks between its setups and itself; each must have ended."""
    deciding: tuple[int, ...]
    """The tasks whose ends make the run's state: the last ones, teardowns left aside unless they fail the run."""


def scopes_of(document: DagDocument) -> Scopes:
    """Return the scopes of a DAG, whose tasks stand in topological order."""
    index = {task.task_id: position for position, task in enumerate(document.tasks)}
    upstream = {task.task_id: task.upstream for task in document.tasks}

    def indexed(found: Mapping[str, Collection[str]]) -> dict[int, tuple[int, ...]]:
        return {index[name]: tuple(sorted(index[one] for one in others)) for name, others in found.items()}

    return Scopes(
        indexed(guarding_setups(document.tasks, upstream)),
        indexed(awaited_by_teardowns(document.tasks, upstream)),
        tuple(index[name] for name in deciding_leaves(document.tasks, upstream)),
    )


def with_scopes(document: DagDocument, chosen: Iterable[str]) -> set[str]:
    """Return the task ids ``chosen`` for clearing, with the setups that serve them and those setups' teardowns."""
    meant = set(chosen)
    upstream = {task.task_id: task.upstream for task in document.tasks}
    for setup, members in scopes(document.tasks, upstream).items():
        if members & meant:
            meant |= {setup} | {task.task_id for task in document.tasks if setup in task.setups}
    return meant
