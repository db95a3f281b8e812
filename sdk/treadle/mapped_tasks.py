"""Which tasks of a DAG's document are mapped: by themselves, or with the mapped group that they stand in. Pure.

Asked by the scheduler, which expands them, and by all that shows DAGs to people.
"""

from __future__ import annotations

from treadle.document import DagDocument, GroupDocument


def mapped_homes(document: DagDocument) -> dict[str, GroupDocument]:
    """Return, by the ids of the tasks that stand in one, the mapped group of each."""
    groups = {one.group_id: one for one in document.groups}
    if not any(one.expand is not None for one in document.groups):
        return {}
    found = {}
    for task in document.tasks:
        group = groups.get(task.group_id or "")
        while group is not None and group.expand is None:
            group = groups.get(group.parent or "")
        if group is not None:
            found[task.task_id] = group
    return found


def mapped_tasks(document: DagDocument) -> frozenset[str]:
    """Return the ids of the tasks that have an instance for each item of something."""
    return frozenset(mapped_homes(document)) | {task.task_id for task in document.tasks if task.expand is not None}
