"""What differs between two versions of a DAG: a pure function over two documents.

Called by the web server and by ``treadle dags diff``. Tasks are matched by id, so a renamed task is one removed and
one added. Line numbers never count, as in the digest that makes a version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from treadle.document import DagDocument, Json, ScheduleDocument, TaskDocument, to_json

_NOT_OF_TASK: Final = frozenset({"task_id", "upstream", "line"})
_NOT_OF_DAG: Final = frozenset({"format", "schedule", "params", "groups", "tasks", "line"})

Edge = tuple[str, str]
"""The ids of an upstream task and of its downstream task."""


@dataclass(frozen=True, slots=True)
class Change:
    """One field with its value before and after, both as JSON; None stands for a value that is not there."""

    field: str
    old: Json
    new: Json


@dataclass(frozen=True, slots=True)
class TaskChange:
    """What changed in a task that both versions have."""

    task_id: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """All that differs from one version to another. Tasks stand in their DAG's order, edges and fields by name."""

    tasks_added: tuple[str, ...]
    tasks_removed: tuple[str, ...]
    tasks_changed: tuple[TaskChange, ...]
    edges_added: tuple[Edge, ...]
    edges_removed: tuple[Edge, ...]
    schedule: tuple[Change, ...]
    dag: tuple[Change, ...]
    """Changed arguments of the DAG; a parameter is ``params.NAME``, a task group ``groups.NAME``."""

    def __bool__(self) -> bool:
        """Tell whether anything differs."""
        return any(getattr(self, one.name) for one in fields(self))


def differences(old: DagDocument, new: DagDocument) -> Difference:
    """Return what became different from ``old`` to ``new``."""
    before = {task.task_id: task for task in old.tasks}
    after = {task.task_id: task for task in new.tasks}
    edges_before, edges_after = _edges(old), _edges(new)
    return Difference(
        tasks_added=tuple(name for name in after if name not in before),
        tasks_removed=tuple(name for name in before if name not in after),
        tasks_changed=tuple(_task_changes(before, after)),
        edges_added=tuple(sorted(edges_after - edges_before)),
        edges_removed=tuple(sorted(edges_before - edges_after)),
        schedule=tuple(_changes(old.schedule, new.schedule, _fields(ScheduleDocument, frozenset()))),
        dag=tuple(_dag_changes(old, new)),
    )


def _edges(document: DagDocument) -> set[Edge]:
    return {(upstream, task.task_id) for task in document.tasks for upstream in task.upstream}


def _task_changes(before: Mapping[str, TaskDocument], after: Mapping[str, TaskDocument]) -> Iterable[TaskChange]:
    names = _fields(TaskDocument, _NOT_OF_TASK)
    for task_id, task in after.items():
        if task_id in before:
            changes = tuple(_changes(before[task_id], task, names))
            if changes:
                yield TaskChange(task_id, changes)


def _dag_changes(old: DagDocument, new: DagDocument) -> Iterable[Change]:
    yield from _changes(old, new, _fields(DagDocument, _NOT_OF_DAG))
    yield from _named("params", {one.name: one for one in old.params}, {one.name: one for one in new.params})
    yield from _named("groups", {one.group_id: one for one in old.groups}, {one.group_id: one for one in new.groups})


def _named(what: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterable[Change]:
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield Change(f"{what}.{name}", _plain(before.get(name)), _plain(after.get(name)))


def _changes(old: object, new: object, names: Iterable[str]) -> Iterable[Change]:
    for name in names:
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield Change(name, _plain(before), _plain(after))


def _fields(kind: type[Any], without: frozenset[str]) -> list[str]:
    return sorted(one.name for one in fields(kind) if one.name not in without)


def _plain(value: Any) -> Json:
    if hasattr(value, "__dataclass_fields__"):
        return to_json(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
