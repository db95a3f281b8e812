"""Marks the instances of one task in one run, as a person does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from treadle_metadata.marking import mark_selected
from treadle_metadata.selecting import Selection


def mark_task(
    connection: Connection,
    dag_id: str,
    run_id: str,
    task_id: str,
    state: str,
    *,
    map_indexes: Sequence[int] | None = None,
    now: datetime,
) -> None:
    """Set the instances of a task (those with these indexes, if any are given)."""
    indexes = None if map_indexes is None else tuple(map_indexes)
    selection = Selection(dag_id=dag_id, run_id=run_id, task_ids=(task_id,), map_indexes=indexes)
    mark_selected(connection, selection, state, now=now)
