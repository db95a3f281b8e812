"""Clearing task instances, so that they run again.

What is cleared is named by a :class:`Selection`; with ``dry_run`` the same instances are only listed, so a preview and
its effect are one (case H11). Nothing outside the selection is touched (case A15).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection

from treadle.document import DagDocument
from treadle_metadata.connection import RUNS, WAKE, notify
from treadle_metadata.deciding.scopes import with_scopes
from treadle_metadata.endings import tell_workers
from treadle_metadata.errors import InvalidRequestError, shown
from treadle_metadata.runs import newest_version
from treadle_metadata.statements import execute, rows
from treadle_metadata.transitions import instances, runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which task instances of one DAG are meant. What is None does not narrow the selection."""

    dag_id: str
    run_id: str | None = None
    task_ids: tuple[str, ...] | None = None
    task_regex: str | None = None
    map_indexes: tuple[int, ...] | None = None
    start_date: datetime | None = None
    """Runs with this logical date (or, where they have none, run_after) or a later one."""
    end_date: datetime | None = None
    include_upstream: bool = False
    include_downstream: bool = False
    only_failed: bool = False
    only_running: bool = False


_CLEARABLE = ("scheduled", "queued", "running", "success", "failed", "skipped", "upstream_failed", "up_for_retry",
              "up_for_reschedule", "deferred", "removed")  # fmt: skip


def clear(
    connection: Connection, selection: Selection, *, dry_run: bool = False, now: datetime
) -> Sequence[Mapping[str, Any]]:
    """Clear the selected instances and reopen their runs; return the rows (with ``run_id``) that are meant.

    A running instance is ended and starts over. Each cleared instance gets the retries of its task again.

    Raises:
        NotFoundError: there is no such DAG.
        InvalidRequestError: the regular expression or a task id of the selection is of no use.
    """
    _, document = newest_version(connection, selection.dag_id)
    tasks = selected_tasks(document, selection)
    if not dry_run:
        _lock_runs(connection, {one["dag_run_id"] for one in _find(connection, selection, tasks)})
    found = _find(connection, selection, tasks)
    if not dry_run and found:
        retries = {task.task_id: min(task.retries, instances.MOST_RETRIES) for task in document.tasks}
        _clear(connection, found, retries, _states(selection), now)
    return found


def selected_tasks(document: DagDocument, selection: Selection) -> list[str]:
    """Return the task ids that ``selection`` names, with what is up or down stream of them if it says so.

    The setups that these need come along, and those setups' teardowns (case A39).
    """
    known = [task.task_id for task in document.tasks]
    chosen = set(known if selection.task_ids is None else selection.task_ids)
    unknown = sorted(chosen - set(known))
    if unknown:
        raise InvalidRequestError(
            f"DAG {shown(document.dag_id)} has no task {shown(unknown[0])}; it has {', '.join(known)}"
        )
    if selection.task_regex is not None:
        try:
            pattern = re.compile(selection.task_regex)
        except re.error as error:
            raise InvalidRequestError(f"task regex {shown(selection.task_regex)} is not valid: {error}") from error
        chosen = {task for task in chosen if pattern.search(task)}
    above = {task.task_id: task.upstream for task in document.tasks}
    below: dict[str, list[str]] = {task: [] for task in known}
    for task in document.tasks:
        for one in task.upstream:
            below[one].append(task.task_id)
    more = _reach(chosen, above) if selection.include_upstream else set()
    more |= _reach(chosen, below) if selection.include_downstream else set()
    meant = with_scopes(document, chosen | more)
    return [task for task in known if task in meant]


def _reach(start: Iterable[str], neighbours: Mapping[str, Sequence[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(start)
    while waiting:
        for one in neighbours[waiting.pop()]:
            if one not in reached:
                reached.add(one)
                waiting.append(one)
    return reached


def _states(selection: Selection) -> Sequence[str]:
    if selection.only_failed:
        return ("failed", "upstream_failed")
    return ("running",) if selection.only_running else _CLEARABLE


def _lock_runs(connection: Connection, ids: Collection[int]) -> None:
    """Lock runs, so that none ends, or is given instances, between the look at it and the change of it."""
    execute(
        connection,
        "SELECT id FROM dag_run WHERE id = ANY(%(ids)s) ORDER BY id FOR NO KEY UPDATE",
        {"ids": list(ids)},
    )


def _find(connection: Connection, selection: Selection, tasks: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    return rows(
        connection,
        """
        SELECT instance.*, run.run_id, run.logical_date, run.state AS run_state
        FROM dag_run AS run
        JOIN task_instance AS instance ON instance.dag_run_id = run.id AND instance.month = run.month
        WHERE run.dag_id = %(dag_id)s
          AND (%(run_id)s::text IS NULL OR run.run_id = %(run_id)s)
          AND (%(start)s::timestamptz IS NULL OR coalesce(run.logical_date, run.run_after) >= %(start)s)
          AND (%(end)s::timestamptz IS NULL OR coalesce(run.logical_date, run.run_after) <= %(end)s)
          AND instance.task_id = ANY(%(tasks)s) AND instance.state = ANY(%(states)s)
          AND (%(indexes)s::int[] IS NULL OR instance.map_index = ANY(%(indexes)s::int[]))
        ORDER BY run.id, instance.id
        """,
        {
            "dag_id": selection.dag_id,
            "run_id": selection.run_id,
            "start": selection.start_date,
            "end": selection.end_date,
            "tasks": list(tasks),
            "states": list(_states(selection)),
            "indexes": None if selection.map_indexes is None else list(selection.map_indexes),
        },
    )


def _clear(
    connection: Connection,
    found: Sequence[Mapping[str, Any]],
    retries: Mapping[str, int],
    states: Sequence[str],
    now: datetime,
) -> None:
    for month, batch in groupby(sorted(found, key=itemgetter("month")), key=itemgetter("month")):
        listed = list(batch)
        cleared = instances.clear(
            connection, [one["id"] for one in listed], [retries[one["task_id"]] for one in listed], states, month=month
        )
        tell_workers(connection, cleared)
    finished = sorted({one["dag_run_id"] for one in found if one["run_state"] in ("success", "failed")})
    runs.requeue(connection, finished, now=now)
    runs.wake(connection, [(run, now) for run in sorted({one["dag_run_id"] for one in found})])
    notify(connection, WAKE, RUNS)
