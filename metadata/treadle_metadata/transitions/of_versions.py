"""Moves of task instances whose run moves to another version of its DAG: removed with their task, or told its new say.

Called by clearing, which holds the runs. A running attempt of a task that is gone is ended first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.statements import execute, tuples
from treadle_metadata.states import TaskState, may_follow
from treadle_metadata.transitions import instances, suspended

_LOCK: Final = """
    SELECT id, state FROM task_instance WHERE month = %(month)s AND id = ANY(%(ids)s) ORDER BY id FOR NO KEY UPDATE
"""

_REMOVE: Final = """
    UPDATE task_instance
    SET state = 'removed', ended_at = coalesce(ended_at, %(now)s), next_retry_at = NULL, waiting_for = NULL
    WHERE month = %(month)s AND id = ANY(%(ids)s) AND state = ANY(%(lawful)s)
"""

# Only instances that are still to be handed to a worker: what an attempt runs with is told to it already.
_TAKE_COLUMNS: Final = """
    UPDATE task_instance AS instance
    SET operator = task.operator, pool = task.pool, pool_slots = task.pool_slots, queue = task.queue,
        executor = task.executor, priority_weight = task.priority_weight
    FROM unnest(%(task_id)s::text[], %(operator)s::text[], %(pool)s::text[], %(pool_slots)s::int[], %(queue)s::text[],
                %(executor)s::text[], %(priority_weight)s::int[])
         AS task (task_id, operator, pool, pool_slots, queue, executor, priority_weight)
    WHERE instance.month = %(month)s AND instance.dag_run_id = ANY(%(dag_run_ids)s)
      AND instance.task_id = task.task_id
      AND instance.state IN ('none', 'scheduled', 'restarting', 'up_for_retry', 'up_for_reschedule')
"""


# A task that a later version has again: what was removed starts over, with the retries of a new instance.
_BRING_BACK: Final = """
    UPDATE task_instance AS instance
    SET state = 'none', ended_at = NULL, max_tries = instance.try_number + back.retries
    FROM unnest(%(runs)s::bigint[], %(tasks)s::text[], %(retries)s::int[]) AS back (dag_run_id, task_id, retries)
    WHERE instance.month = %(month)s AND instance.dag_run_id = back.dag_run_id AND instance.task_id = back.task_id
      AND instance.map_index = -1 AND instance.state = 'removed'
"""


def bring_back(connection: Connection, new: Sequence[Mapping[str, Any]], *, month: date) -> None:
    """Make removed instances undecided for which ``new`` has a row (index -1), as it would be inserted."""
    parameters = {
        "runs": [one["dag_run_id"] for one in new],
        "tasks": [one["task_id"] for one in new],
        "retries": [one["max_tries"] for one in new],
        "month": month,
    }
    execute(connection, _BRING_BACK, parameters)


def remove(connection: Connection, ids: Sequence[int], *, month: date, now: datetime) -> Sequence[Any]:
    """Move instances to removed: their run's version has no such task any more. What is under way fails first.

    Returns (id, run, attempt id, state before) of those that were ended.
    """
    parameters = {"ids": list(ids), "month": month, "now": now}
    lawful = may_follow(TaskState.REMOVED)
    under_way = [row[0] for row in tuples(connection, _LOCK, parameters) if row[1] not in (*lawful, TaskState.REMOVED)]
    ended = instances.mark(connection, under_way, TaskState.FAILED, month=month, now=now)
    execute(connection, _REMOVE, parameters | {"lawful": list(lawful)})
    suspended.withdraw_questions(connection, ids, month=month, now=now)
    return ended


def take_columns(
    connection: Connection, dag_run_ids: Sequence[int], columns: Sequence[Mapping[str, Any]], *, month: date
) -> None:
    """Give the instances of runs that are still to be handed over what their tasks say now (pool, queue, weight...)."""
    names = ("task_id", "operator", "pool", "pool_slots", "queue", "executor", "priority_weight")
    execute(
        connection,
        _TAKE_COLUMNS,
        {name: [one[name] for one in columns] for name in names} | {"dag_run_ids": list(dag_run_ids), "month": month},
    )
