"""Setups and teardowns: what waits for which setup, what a teardown waits for, and whose end makes the run's state.

A setup's scope is what lies between it and its teardown. Pure functions over a DAG document, computed once for each
version (specification: setup and teardown; cases A39, A40).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from treadle.document import DagDocument, TaskDocument


@dataclass(frozen=True, slots=True)
class Scopes:
    """The waits that setups and teardowns add to a DAG, by the index of each task in the document."""

    setups_above: Mapping[int, tuple[int, ...]]
    """For a task that is no teardown: the setups among all that is above it; each must have succeeded."""
    work_above: Mapping[int, tuple[int, ...]]
    """For a teardown: the tasks between its setups and itself; each must have ended."""
    deciding: tuple[int, ...]
    """The tasks whose ends make the run's state: the last ones, teardowns left aside unless they fail the run."""


def scopes_of(document: DagDocument) -> Scopes:
    """Return the scopes of a DAG, whose tasks stand in topological order."""
    index = {task.task_id: position for position, task in enumerate(document.tasks)}
    if not any(task.is_setup or task.is_teardown for task in document.tasks):
        return Scopes({}, {}, _deciding(document.tasks, index))
    above = _above(document.tasks, index)
    setups = {position for position, task in enumerate(document.tasks) if task.is_setup}
    setups_above: dict[int, tuple[int, ...]] = {}
    work_above: dict[int, tuple[int, ...]] = {}
    for position, task in enumerate(document.tasks):
        if task.is_teardown:
            own = {index[name] for name in task.setups}
            between = {one for one in above[position] if above[one] & own}
            if between:
                work_above[position] = tuple(sorted(between))
        elif above[position] & setups:
            setups_above[position] = tuple(sorted(above[position] & setups))
    return Scopes(setups_above, work_above, _deciding(document.tasks, index))


def with_scopes(document: DagDocument, chosen: Iterable[str]) -> set[str]:
    """Return the task ids ``chosen`` for clearing, with the setups that they need and those setups' teardowns.

    A setup without a teardown serves all that is below it; one with a teardown serves what lies between the two.
    """
    index = {task.task_id: position for position, task in enumerate(document.tasks)}
    above = _above(document.tasks, index)
    teardowns: dict[str, list[str]] = {}
    for task in document.tasks:
        for setup in task.setups:
            teardowns.setdefault(setup, []).append(task.task_id)
    found = set(chosen)
    for name in list(found):
        for one in above[index[name]]:
            task = document.tasks[one]
            after = teardowns.get(task.task_id, [])
            if task.is_setup and (not after or any(index[name] in above[index[last]] for last in after)):
                found |= {task.task_id, *after}
    return found


def _above(tasks: Sequence[TaskDocument], index: Mapping[str, int]) -> list[set[int]]:
    above: list[set[int]] = []
    for task in tasks:
        direct = {index[name] for name in task.upstream}
        above.append(direct.union(*(above[one] for one in direct)) if direct else set())
    return above


def _deciding(tasks: Sequence[TaskDocument], index: Mapping[str, int]) -> tuple[int, ...]:
    aside = {position for position, task in enumerate(tasks) if task.is_teardown and not task.on_failure_fail_dagrun}
    followed = {index[name] for position, task in enumerate(tasks) if position not in aside for name in task.upstream}
    last = tuple(position for position in range(len(tasks)) if position not in followed and position not in aside)
    return last or tuple(sorted(aside))
