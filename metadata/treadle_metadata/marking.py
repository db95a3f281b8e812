"""Setting the state of runs and task instances by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from treadle_metadata.connection import RUNS, WAKE, notify
from treadle_metadata.endings import end_runs, tell_workers
from treadle_metadata.errors import ConflictError, InvalidRequestError, NotFoundError, shown
from treadle_metadata.runs import find_run, lock_run
from treadle_metadata.statements import rows
from treadle_metadata.states import RunState, TaskState
from treadle_metadata.transitions import instances, runs


def mark_run(connection: Connection, dag_id: str, run_id: str, state: str, *, now: datetime) -> Mapping[str, Any]:
    """Set a run to ``success``, ``failed`` or ``queued``; return its new row.

    A finished state ends the run at once: running instances take that state and their processes are ended, instances
    that have not started are skipped. ``queued`` lets the scheduler go on with a finished run.

    Raises:
        NotFoundError: there is no such run.
        InvalidRequestError: ``state`` is not one of the three.
        ConflictError: the run is in that state already.
    """
    if state not in ("success", "failed", "queued"):
        raise InvalidRequestError(f"a run can be set to success, failed or queued, not to {shown(state)}")
    run = lock_run(connection, dag_id, run_id)
    if run["state"] == state:
        raise ConflictError(f"run {shown(run_id)} of DAG {shown(dag_id)} is {state} already")
    if state == "queued":
        runs.requeue(connection, [run["id"]], now=now)
    else:
        end_runs(connection, [run["id"]], RunState(state), month=run["month"], now=now)
    notify(connection, WAKE, RUNS)
    return find_run(connection, dag_id, run_id)


def mark_instances(
    connection: Connection,
    dag_id: str,
    run_id: str,
    task_id: str,
    state: str,
    *,
    map_indexes: Sequence[int] | None = None,
    now: datetime,
) -> Sequence[Mapping[str, Any]]:
    """Set instances of a task in a run to ``success``, ``failed`` or ``skipped``; return their new rows.

    Attempts under way are ended and cannot report any more. A finished run is not reopened.

    Raises:
        NotFoundError: there is no such run or instance.
        InvalidRequestError: ``state`` is not one of the three.
    """
    if state not in ("success", "failed", "skipped"):
        raise InvalidRequestError(f"a task instance can be set to success, failed or skipped, not to {shown(state)}")
    run = lock_run(connection, dag_id, run_id)
    found = _instances(connection, run, task_id, map_indexes)
    if not found:
        raise NotFoundError(f"task instance of run {shown(run_id)} with task id", task_id)
    moved = instances.mark(connection, [one["id"] for one in found], TaskState(state), month=run["month"], now=now)
    tell_workers(connection, moved)
    runs.wake(connection, [(run["id"], now)])
    runs.wake_following(connection, [run["id"]], now=now)
    notify(connection, WAKE, RUNS)
    return _instances(connection, run, task_id, map_indexes)


def _instances(
    connection: Connection, run: Mapping[str, Any], task_id: str, map_indexes: Sequence[int] | None
) -> Sequence[Mapping[str, Any]]:
    return rows(
        connection,
        """
        SELECT * FROM task_instance
        WHERE month = %(month)s AND dag_run_id = %(run)s AND task_id = %(task_id)s
          AND (%(indexes)s::int[] IS NULL OR map_index = ANY(%(indexes)s::int[]))
        ORDER BY map_index
        """,
        {
            "month": run["month"],
            "run": run["id"],
            "task_id": task_id,
            "indexes": None if map_indexes is None else list(map_indexes),
        },
    )
