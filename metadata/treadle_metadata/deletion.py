"""Deleting finished runs, and whole DAGs, with all that belongs to them. Log files stay until retention takes them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.connection import PARSE, RUNS, WAKE, notify
from treadle_metadata.deciding.wording import counted
from treadle_metadata.endings import end_runs
from treadle_metadata.errors import ConflictError, shown
from treadle_metadata.pausing import set_paused
from treadle_metadata.queries.dags import no_such_dag
from treadle_metadata.retention import delete_rows
from treadle_metadata.runs import lock_run
from treadle_metadata.statements import execute, rows
from treadle_metadata.states import FINISHED_RUNS, RunState
from treadle_metadata.transitions import runs

_OF_INSTANCES: Final = (
    "DELETE FROM xcom WHERE month = %(month)s AND task_instance_id = ANY(%(instances)s)",
    "DELETE FROM task_attempt WHERE month = %(month)s AND task_instance_id = ANY(%(instances)s)",
    "DELETE FROM durable_step WHERE month = %(month)s AND task_instance_id = ANY(%(instances)s)",
    "DELETE FROM durable_blob WHERE month = %(month)s AND task_instance_id = ANY(%(instances)s)",
    "DELETE FROM durable_failure WHERE month = %(month)s AND task_instance_id = ANY(%(instances)s)",
    "DELETE FROM durable_journal WHERE month = %(month)s AND task_instance_id = ANY(%(instances)s)",
    "DELETE FROM sensor_wait WHERE month = %(month)s AND task_instance_id = ANY(%(instances)s)",
    "DELETE FROM human_step WHERE month = %(month)s AND task_instance_id = ANY(%(instances)s)",
    "DELETE FROM task_instance WHERE month = %(month)s AND dag_run_id = %(run)s",
    "DELETE FROM run_wakeup WHERE dag_run_id = %(run)s",
    "DELETE FROM dag_run WHERE id = %(run)s",
)

_INSTANCE_OF_DAG: Final = """
    USING task_instance AS instance, dag_run AS run
    WHERE run.dag_id = %(dag_id)s AND instance.dag_run_id = run.id AND instance.month = run.month
"""

_OF_DAG: Final = (
    f"DELETE FROM xcom {_INSTANCE_OF_DAG} AND xcom.task_instance_id = instance.id AND xcom.month = instance.month",
    f"DELETE FROM task_attempt AS attempt {_INSTANCE_OF_DAG}"
    " AND attempt.task_instance_id = instance.id AND attempt.month = instance.month",
    *(
        f"DELETE FROM {table} AS mine {_INSTANCE_OF_DAG}"
        " AND mine.task_instance_id = instance.id AND mine.month = instance.month"
        for table in ("durable_step", "durable_blob", "durable_failure", "durable_journal", "sensor_wait", "human_step")
    ),
    "DELETE FROM task_instance AS instance USING dag_run AS run"
    " WHERE run.dag_id = %(dag_id)s AND instance.dag_run_id = run.id AND instance.month = run.month",
    "DELETE FROM run_wakeup USING dag_run AS run WHERE run.dag_id = %(dag_id)s AND run_wakeup.dag_run_id = run.id",
    "DELETE FROM dag_run WHERE dag_id = %(dag_id)s",
    "DELETE FROM asset_run_queue WHERE dag_id = %(dag_id)s",
    "DELETE FROM backfill WHERE dag_id = %(dag_id)s",
    "DELETE FROM dag_warning WHERE dag_id = %(dag_id)s",
    # Forgotten, so that a file that still defines the DAG is read again and the DAG comes back as a new one.
    "DELETE FROM dag_file USING dag WHERE dag.dag_id = %(dag_id)s AND dag_file.file = dag.file",
    "DELETE FROM dag WHERE dag_id = %(dag_id)s",
    "DELETE FROM dag_version_code USING dag_version AS version"
    " WHERE version.dag_id = %(dag_id)s AND dag_version_code.version_id = version.id",
    "DELETE FROM dag_version WHERE dag_id = %(dag_id)s",
    # Texts that no version has had any more; another DAG of the same file keeps its own.
    "DELETE FROM dag_code WHERE NOT EXISTS (SELECT FROM dag_version_code AS had WHERE had.hash = dag_code.hash)",
)


def delete_dag(connection: Connection, dag_id: str) -> int:
    """Delete a DAG, its versions and all its runs; return how many runs there were.

    Raises:
        NotFoundError: there is no such DAG.
        ConflictError: it has runs that are not finished.
    """
    unfinished, all_runs = _counted(connection, dag_id)
    if unfinished:
        raise _unfinished(dag_id, unfinished)
    # DAG processors remember the files that they have read: they are told to look at this one again.
    for dag in rows(connection, "SELECT file FROM dag WHERE dag_id = %(dag_id)s", {"dag_id": dag_id}):
        notify(connection, PARSE, dag["file"])
    for sql in _OF_DAG:
        execute(connection, sql, {"dag_id": dag_id})
    return all_runs


def begin_deletion(connection: Connection, dag_id: str, *, now: datetime) -> int:
    """Pause a DAG that is about to be deleted in parts, so that it gets no new run; return how many runs there are.

    Raises:
        NotFoundError: there is no such DAG.
        ConflictError: it has runs that are not finished.
    """
    unfinished, all_runs = _counted(connection, dag_id)
    if unfinished:
        raise _unfinished(dag_id, unfinished)
    set_paused(connection, [dag_id], True, now=now)
    return all_runs


def delete_some_runs(connection: Connection, dag_id: str, *, most: int) -> int:
    """Delete up to ``most`` finished runs of a DAG with all that belongs to them; return how many there were."""
    sql = """
        SELECT id, month FROM dag_run WHERE dag_id = %(dag_id)s AND state IN ('success', 'failed')
        ORDER BY id LIMIT %(most)s FOR UPDATE
    """
    found = rows(connection, sql, {"dag_id": dag_id, "most": most})
    for month in sorted({row["month"] for row in found}):
        delete_rows(connection, [row["id"] for row in found if row["month"] == month], month)
    return len(found)


def _counted(connection: Connection, dag_id: str) -> tuple[int, int]:
    """Lock a DAG; return how many runs it has that are not finished, and how many in all."""
    if not rows(connection, "SELECT dag_id FROM dag WHERE dag_id = %(dag_id)s FOR UPDATE", {"dag_id": dag_id}):
        raise no_such_dag(connection, dag_id)
    counts = rows(
        connection,
        "SELECT count(*) AS all_runs, count(*) FILTER (WHERE state IN ('queued', 'running')) AS unfinished"
        " FROM dag_run WHERE dag_id = %(dag_id)s",
        {"dag_id": dag_id},
    )[0]
    return counts["unfinished"], counts["all_runs"]


def _unfinished(dag_id: str, number: int) -> ConflictError:
    them = "it" if number == 1 else "them"
    runs = counted(number, "unfinished run")
    return ConflictError(f"DAG {shown(dag_id)} has {runs}: let {them} end or mark {them} failed first")


def delete_run(connection: Connection, dag_id: str, run_id: str, *, end_first: bool = False, now: datetime) -> None:
    """Delete a finished run, its task instances, their attempts and XComs; with ``end_first`` one under way, too.

    Raises:
        NotFoundError: there is no such run.
        ConflictError: it is not finished, or has teardowns that have to run first.
    """
    # Locked: a scheduler may be about to go on with it after a clear, and another person to delete it.
    run = lock_run(connection, dag_id, run_id)
    if end_first and run["state"] not in FINISHED_RUNS:
        end_runs(connection, [run["id"]], RunState.FAILED, month=run["month"], now=now, why="its run is deleted")
        run = lock_run(connection, dag_id, run_id)
    if run["state"] not in FINISHED_RUNS:
        raise ConflictError(f"run {shown(run_id)} of DAG {shown(dag_id)} is {run['state']}: {_advice(run)}")
    # The run after it may have waited for this one; by when it is looked at, this one is gone.
    runs.wake_following(connection, [run["id"]], now=now)
    notify(connection, WAKE, RUNS)
    parameters = {"run": run["id"], "month": run["month"]}
    instances = rows(
        connection, "SELECT id FROM task_instance WHERE month = %(month)s AND dag_run_id = %(run)s", parameters
    )
    for sql in _OF_INSTANCES:
        execute(connection, sql, parameters | {"instances": [one["id"] for one in instances]})


def _advice(run: Mapping[str, Any]) -> str:
    if run["ending"]:
        return "its teardowns have to run first; mark it failed, and delete it once they have"
    return "mark it failed first, or let it be ended with the deletion (end_first)"
