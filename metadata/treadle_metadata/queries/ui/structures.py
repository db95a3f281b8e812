"""The structure of a version as pages draw it: rows of tasks and groups in order. Pure but for one read.

A version's structure never changes, so a web server keeps what it has worked out (``StructureCache``).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sqlalchemy import Connection

from treadle.document import DagDocument, GroupDocument, TaskDocument, loads
from treadle_metadata.errors import NotFoundError
from treadle_metadata.statements import tuples

_KEPT: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A task or a group. ``parent`` is the group that it stands in; ``depth`` counts the groups around it."""

    id: str
    label: str
    kind: Literal["task", "group"]
    parent: str | None = None
    depth: int = 0
    is_mapped: bool = False
    operator: str | None = None
    trigger_rule: str | None = None
    is_setup: bool = False
    is_teardown: bool = False
    doc: str | None = None
    links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Structure:
    """A version of a DAG: its document, and its rows, each group before what stands in it."""

    version_id: int
    number: int
    document: DagDocument
    rows: tuple[Row, ...]
    upstream: Mapping[str, Sequence[str]]

    @property
    def groups_of(self) -> dict[str, list[str]]:
        """The groups around each task, the innermost first."""
        parents = {row.id: row.parent for row in self.rows if row.kind == "group"}
        found: dict[str, list[str]] = {}
        for row in self.rows:
            if row.kind == "task":
                around, parent = [], row.parent
                while parent is not None:
                    around.append(parent)
                    parent = parents.get(parent)
                found[row.id] = around
        return found


def rows_of(document: DagDocument) -> tuple[Row, ...]:
    """Return the rows of a version: tasks in topological order, each group where its first task stands."""
    groups = {group.group_id: group for group in document.groups}
    children: dict[str | None, list[TaskDocument | str]] = {None: []}
    seen: set[str] = set()
    for task in document.tasks:
        for group_id in reversed(_around(task.group_id, groups)):
            if group_id not in seen:
                seen.add(group_id)
                children.setdefault(groups[group_id].parent, []).append(group_id)
        children.setdefault(task.group_id if task.group_id in groups else None, []).append(task)
    found: list[Row] = []
    waiting: list[tuple[TaskDocument | str, str | None, int, bool]] = [
        (one, None, 0, False) for one in reversed(children[None])
    ]
    while waiting:
        one, parent, depth, mapped = waiting.pop()
        if isinstance(one, TaskDocument):
            found.append(_task_row(one, parent, depth, mapped))
            continue
        group = groups[one]
        mapped = mapped or group.expand is not None
        found.append(_group_row(group, depth, mapped))
        waiting += [(inner, one, depth + 1, mapped) for inner in reversed(children.get(one, []))]
    return tuple(found)


def _around(group_id: str | None, groups: Mapping[str, GroupDocument]) -> list[str]:
    found: list[str] = []
    while group_id is not None and group_id in groups and group_id not in found:
        found.append(group_id)
        group_id = groups[group_id].parent
    return found


def _task_row(task: TaskDocument, parent: str | None, depth: int, mapped: bool) -> Row:
    return Row(
        id=task.task_id,
        label=task.display_name or _short(task.task_id, parent),
        kind="task",
        parent=parent,
        depth=depth,
        is_mapped=mapped or task.expand is not None,
        operator=task.operator,
        trigger_rule=task.trigger_rule,
        is_setup=task.is_setup,
        is_teardown=task.is_teardown,
        doc=task.doc_md,
        links=task.extra_links,
    )


def _group_row(group: GroupDocument, depth: int, mapped: bool) -> Row:
    return Row(
        id=group.group_id,
        label=group.label or _short(group.group_id, group.parent),
        kind="group",
        parent=group.parent,
        depth=depth,
        is_mapped=mapped,
        doc=group.doc_md or group.tooltip or None,
    )


def _short(name: str, parent: str | None) -> str:
    """Return a name without the group's, which stands above it."""
    return name.removeprefix(f"{parent}.") if parent is not None else name


class StructureCache:
    """The structures that were asked for last, by version; safe to use from several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Structure] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, connection: Connection, version_id: int) -> Structure:
        """Return the structure of a version, read if it is not known yet.

        Raises:
            NotFoundError: there is no such version.
        """
        with self._lock:
            if version_id in self._kept:
                self._kept.move_to_end(version_id)
                return self._kept[version_id]
        read = _read(connection, version_id)
        with self._lock:
            self._kept[version_id] = read
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return read


def _read(connection: Connection, version_id: int) -> Structure:
    sql = "SELECT number, document FROM dag_version WHERE id = %(id)s"
    found = tuples(connection, sql, {"id": version_id})
    if not found:
        raise NotFoundError("version of a DAG", version_id)
    document = loads(found[0][1])
    upstream = {task.task_id: task.upstream for task in document.tasks}
    return Structure(version_id, found[0][0], document, rows_of(document), upstream)


def version_id_of(connection: Connection, dag_id: str, number: int | None) -> int:
    """Return the id of a version of a DAG: of its newest one without ``number``.

    Raises:
        NotFoundError: there is no such version, or no such DAG.
    """
    found = tuples(
        connection,
        """
        SELECT version.id FROM dag_version AS version JOIN dag ON dag.dag_id = version.dag_id
        WHERE version.dag_id = %(dag_id)s
          AND (version.number = %(number)s::int OR (%(number)s::int IS NULL AND version.id = dag.version_id))
        """,
        {"dag_id": dag_id, "number": number},
    )
    if not found:
        raise NotFoundError(f"version of DAG {dag_id!r}", "newest" if number is None else number)
    return int(found[0][0])
