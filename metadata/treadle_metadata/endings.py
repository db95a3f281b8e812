"""Ending runs before their time: a person marks one, cancels its backfill, or its time limit is over.

Everything in such a run ends with it, so that none of its tasks starts or stays undecided, and the run after it is
told. The caller holds the runs' rows, so that no scheduler gives them further instances meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection

from treadle_metadata.connection import TERMINATE, notify
from treadle_metadata.states import ACTIVE, RunState, TaskState
from treadle_metadata.transitions import instances, runs


def end_runs(
    connection: Connection, dag_run_ids: Sequence[int], state: RunState, *, month: date, now: datetime
) -> None:
    """End runs of one month in ``state``: what is under way takes it too and is stopped, what has not is skipped."""
    if not dag_run_ids:
        return
    stop_tasks(connection, dag_run_ids, TaskState(state.value), month=month, now=now)
    runs.finish(connection, dag_run_ids, state, now=now)
    runs.wake_following(connection, dag_run_ids, now=now)


def stop_tasks(
    connection: Connection,
    dag_run_ids: Sequence[int],
    state: TaskState,
    *,
    sparing: Sequence[str] = (),
    month: date,
    now: datetime,
) -> None:
    """End all that is not finished in these runs, but the tasks ``sparing``; what is under way takes ``state``."""
    moved = instances.end(connection, dag_run_ids, state, sparing=sparing, month=month, now=now)
    tell_workers(connection, moved)


def tell_workers(connection: Connection, moved: Iterable[Sequence[Any]]) -> None:
    """Have the attempts that were under way ended; ``moved`` is what a move of ``transitions.instances`` returned."""
    for _, _, attempt_id, before in moved:
        if before in ACTIVE:
            notify(connection, TERMINATE, str(attempt_id))
