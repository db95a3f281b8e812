"""Which runs, tasks and task instances of a DAG a person means: by run, dates, ids, regular expression, neighbours.

Used by everything that is done to chosen instances (clearing, marking). Nothing outside a selection is touched
(case A15). Reads only, or locks what it returns; the caller opens the transaction.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from treadle.document import DagDocument
from treadle_metadata.deciding.graph import Graph
from treadle_metadata.deciding.scopes import with_scopes
from treadle_metadata.errors import InvalidRequestError, shown
from treadle_metadata.statements import rows

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which task instances of one DAG are meant. What is None or empty does not narrow the selection."""

    dag_id: str
    run_id: str | None = None
    run_ids: tuple[str, ...] | None = None
    """Without ``run_id``: only these runs."""
    task_ids: tuple[str, ...] | None = None
    task_regex: str | None = None
    map_indexes: tuple[int, ...] | None = None
    """Only these instances of the named tasks; tasks up or down stream of them are meant as a whole, but those of the
    same mapped group (:func:`within_groups`)."""
    indexes_of: Mapping[str, Collection[int]] = field(default_factory=dict)
    """The same for single tasks, by task id."""
    start_date: datetime | None = None
    """Runs with this logical date (or, where they have none, run_after) or a later one."""
    end_date: datetime | None = None
    include_past: bool = False
    """With ``run_id``: also the runs before it, by logical date."""
    include_future: bool = False
    """With ``run_id``: also the runs after it."""
    include_upstream: bool = False
    include_downstream: bool = False
    only_failed: bool = False
    only_running: bool = False
    with_scopes: bool = True
    """Whether the setups that the tasks need come along, and those setups' teardowns (case A39)."""


def tasks_by_version(selection: Selection, graphs: Mapping[int, Graph]) -> dict[int, list[str]]:
    """Return the chosen tasks of each version. A task need not be in every version, but in one of them.

    Raises:
        InvalidRequestError: no version has such a task, or the regular expression is not valid.
    """
    tasks: dict[int, list[str]] = {}
    refused: dict[int, InvalidRequestError] = {}
    for version, graph in graphs.items():
        try:
            tasks[version] = selected_tasks(graph.document, selection)
        except InvalidRequestError as error:
            refused[version], tasks[version] = error, []
    if refused and len(refused) == len(graphs):
        raise refused[max(refused)]
    return tasks


def selected_tasks(document: DagDocument, selection: Selection) -> list[str]:
    """Return the task ids that ``selection`` names, with what is up or down stream of them if it says so.

    Raises:
        InvalidRequestError: the DAG has no such task, or the regular expression is not valid.
    """
    known = [task.task_id for task in document.tasks]
    chosen = _named(document, selection, known)
    above = {task.task_id: task.upstream for task in document.tasks}
    below: dict[str, list[str]] = {task: [] for task in known}
    for task in document.tasks:
        for one in task.upstream:
            below[one].append(task.task_id)
    more = _reach(chosen, above) if selection.include_upstream else set()
    more |= _reach(chosen, below) if selection.include_downstream else set()
    meant = with_scopes(document, chosen | more) if selection.with_scopes else chosen | more
    return [task for task in known if task in meant]


def _named(document: DagDocument, selection: Selection, known: Sequence[str]) -> set[str]:
    chosen = set(known if selection.task_ids is None else selection.task_ids)
    unknown = sorted(chosen - set(known))
    if unknown:
        raise InvalidRequestError(
            f"DAG {shown(document.dag_id)} has no task {shown(unknown[0])}; it has {', '.join(known)}"
        )
    if selection.task_regex is None:
        return chosen
    try:
        pattern = re.compile(selection.task_regex)
    except re.error as error:
        raise InvalidRequestError(f"task regex {shown(selection.task_regex)} is not valid: {error}") from error
    return {task for task in chosen if pattern.search(task)}


def _reach(start: Iterable[str], neighbours: Mapping[str, Sequence[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(start)
    while waiting:
        for one in neighbours[waiting.pop()]:
            if one not in reached:
                reached.add(one)
                waiting.append(one)
    return reached


def selected_runs(connection: Connection, selection: Selection) -> Sequence[Row]:
    """Return the rows of the runs that are meant, by id."""
    if selection.run_id is not None:
        return _around(connection, selection)
    return rows(
        connection,
        """
        SELECT run.* FROM dag_run AS run
        WHERE run.dag_id = %(dag_id)s AND (%(run_ids)s::text[] IS NULL OR run.run_id = ANY(%(run_ids)s))
          AND (%(start)s::timestamptz IS NULL OR coalesce(run.logical_date, run.run_after) >= %(start)s)
          AND (%(end)s::timestamptz IS NULL OR coalesce(run.logical_date, run.run_after) <= %(end)s)
        ORDER BY run.id
        """,
        {
            "dag_id": selection.dag_id,
            "run_ids": None if selection.run_ids is None else list(selection.run_ids),
            "start": selection.start_date,
            "end": selection.end_date,
        },
    )


def _around(connection: Connection, selection: Selection) -> Sequence[Row]:
    """Return the named run, with those before or after it if they are meant, within the dates if there are any."""
    return rows(
        connection,
        """
        WITH named AS (SELECT * FROM dag_run WHERE dag_id = %(dag_id)s AND run_id = %(run_id)s), meant AS (
            SELECT * FROM named
            UNION ALL SELECT run.* FROM named JOIN dag_run AS run USING (dag_id)
            WHERE %(past)s AND run.logical_date < named.logical_date
            UNION ALL SELECT run.* FROM named JOIN dag_run AS run USING (dag_id)
            WHERE %(future)s AND run.logical_date > named.logical_date)
        SELECT * FROM meant
        WHERE (%(start)s::timestamptz IS NULL OR coalesce(logical_date, run_after) >= %(start)s)
          AND (%(end)s::timestamptz IS NULL OR coalesce(logical_date, run_after) <= %(end)s)
        ORDER BY id
        """,
        {
            "dag_id": selection.dag_id,
            "run_id": selection.run_id,
            "past": selection.include_past,
            "future": selection.include_future,
            "start": selection.start_date,
            "end": selection.end_date,
        },
    )


def locked_runs(connection: Connection, ids: Collection[int]) -> Sequence[Row]:
    """Lock runs and return their rows as they are then: none ends, or is given instances, before the caller is done."""
    return rows(
        connection,
        "SELECT * FROM dag_run WHERE id = ANY(%(ids)s) ORDER BY id FOR NO KEY UPDATE",
        {"ids": sorted(ids)},
    )


def instances_of(
    connection: Connection, runs: Sequence[Row], tasks: Mapping[int, Collection[str]], states: Collection[str]
) -> list[dict[str, Any]]:
    """Return the instances in one of ``states`` of chosen tasks, with ``run_id``, ``logical_date`` and ``run_state``.

    ``tasks`` are the chosen tasks of each run, by the run's id.
    """
    pairs = [(run, task) for run in runs for task in tasks[run["id"]]]
    found = rows(
        connection,
        """
        SELECT instance.*, run.run_id, run.logical_date, run.state AS run_state
        FROM unnest(%(runs)s::bigint[]) AS meant (id)
        JOIN dag_run AS run ON run.id = meant.id
        JOIN task_instance AS instance ON instance.dag_run_id = run.id AND instance.month = run.month
        WHERE instance.task_id = ANY(%(tasks)s) AND instance.state = ANY(%(states)s)
        ORDER BY run.id, instance.id
        """,
        {
            "runs": [run["id"] for run in runs],
            "tasks": sorted({task for _, task in pairs}),
            "states": sorted(states),
        },
    )
    return [dict(one) for one in found if one["task_id"] in tasks[one["dag_run_id"]]]


def as_changes(actions: Iterable[tuple[str, Iterable[Row]]]) -> list[dict[str, Any]]:
    """Return instances as previews list them: run by run and task by task, each with the ``action`` that is taken."""
    names = ("dag_run_id", "run_id", "logical_date", "task_id", "map_index", "state")
    found = [
        {name: one[name] for name in names} | {"action": action} for action, instances in actions for one in instances
    ]
    # Instances of mapped tasks are made later than others; a preview has them together.
    first: dict[tuple[int, str], int] = {}
    for place, one in enumerate(found):
        first.setdefault((one["dag_run_id"], one["task_id"]), place)
    return sorted(
        found, key=lambda one: (one["dag_run_id"], first[one["dag_run_id"], one["task_id"]], one["map_index"])
    )


def within_groups(selection: Selection, graphs: Iterable[Graph]) -> Selection:
    """Return ``selection`` with single instances meant of all tasks of a mapped group, where they are of one of them.

    Of the tasks up or down stream within the group, only the instances of the same indexes depend on each other.
    """
    if selection.map_indexes is None and not selection.indexes_of:
        return selection
    indexes_of = {name: frozenset(indexes) for name, indexes in selection.indexes_of.items()}
    for graph in graphs:
        for group in {node.group for node in graph.nodes if node.group is not None}:
            names = [graph.nodes[one].task.task_id for one in group.nodes]
            named = [name for name in names if name in selection.indexes_of or _is_named(selection, name)]
            meant = [selection.indexes_of.get(name, selection.map_indexes) for name in named]
            if meant and None not in meant:
                together = frozenset(index for indexes in meant for index in indexes or ())
                indexes_of |= {name: together for name in names if name not in named}
    return replace(selection, indexes_of=indexes_of)


def is_meant(selection: Selection, instance: Row) -> bool:
    """Tell whether ``instance``, of a chosen task, is one of the single ones that are meant of it."""
    task_id = instance["task_id"]
    indexes = selection.indexes_of.get(task_id)
    if indexes is None and selection.map_indexes is not None and _is_named(selection, task_id):
        indexes = selection.map_indexes
    return indexes is None or instance["map_index"] in indexes


def _is_named(selection: Selection, task_id: str) -> bool:
    if selection.task_ids is not None and task_id not in selection.task_ids:
        return False
    return selection.task_regex is None or re.search(selection.task_regex, task_id) is not None
