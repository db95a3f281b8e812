"""Which tasks a task group has, by the document of a version: groups are not rows of their own."""

from __future__ import annotations

from sqlalchemy import Connection

from treadle.document import DagDocument, loads
from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.versions import get_version


def tasks_of_group(connection: Connection, dag_id: str, group_id: str, version: int | None = None) -> list[str]:
    """Return the ids of the tasks in a group and in the groups within it; of the newest version without ``version``.

    Raises:
        NotFoundError: there is no such DAG or version, or it has no such group.
    """
    document = loads(get_version(connection, dag_id, version)["document"])
    groups = within(document, group_id)
    if not groups:
        raise NotFoundError(f"task group of DAG {dag_id!r}", group_id, [group.group_id for group in document.groups])
    return [task.task_id for task in document.tasks if task.group_id in groups]


def within(document: DagDocument, group_id: str) -> set[str]:
    """Return the ids of a group and of those within it; nothing if there is no such group."""
    found = {group.group_id for group in document.groups if group.group_id == group_id}
    while more := {group.group_id for group in document.groups if group.parent in found} - found:
        found |= more
    return found
