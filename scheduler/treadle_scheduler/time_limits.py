"""The end of runs that took longer than their ``dagrun_timeout``.

The run fails; what has not started is skipped, what is running fails and its processes are ended at once, so that the
next run can start (case A49).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from treadle_metadata.connection import TERMINATE, notify
from treadle_metadata.planning import unfinished_instances
from treadle_metadata.states import ACTIVE, RunState, TaskState
from treadle_metadata.transitions import instances, runs
from treadle_scheduler.graph import Graph


def end_overdue(
    connection: Connection,
    woken: Sequence[Mapping[str, Any]],
    graphs: Mapping[int, Graph],
    *,
    month: date,
    now: datetime,
) -> list[Mapping[str, Any]]:
    """End the runs whose time is over; return the others."""
    overdue = {run["id"] for run in woken if _is_overdue(run, graphs[run["version_id"]], now)}
    if overdue:
        end_runs(connection, sorted(overdue), month=month, now=now)
    return [run for run in woken if run["id"] not in overdue]


def end_runs(connection: Connection, dag_run_ids: Sequence[int], *, month: date, now: datetime) -> None:
    """Fail these runs and everything in them that is not finished."""
    if not dag_run_ids:
        return
    unfinished = unfinished_instances(connection, dag_run_ids, month=month)
    running = [one["id"] for one in unfinished if one["state"] in ACTIVE]
    waiting = [one["id"] for one in unfinished if one["state"] not in ACTIVE]
    instances.mark(connection, waiting, TaskState.SKIPPED, month=month, now=now)
    for _, _, attempt_id in instances.mark(connection, running, TaskState.FAILED, month=month, now=now):
        notify(connection, TERMINATE, str(attempt_id))
    runs.finish(connection, dag_run_ids, RunState.FAILED, now=now)


def _is_overdue(run: Mapping[str, Any], graph: Graph, now: datetime) -> bool:
    timeout = graph.document.dagrun_timeout_seconds
    return timeout is not None and run["started_at"] + timedelta(seconds=timeout) <= now
