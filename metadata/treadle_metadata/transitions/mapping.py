"""Moves that give mapped tasks their instances: made, numbered, brought back and removed as a mapping has items.

Called by ``treadle_scheduler.expansion``, which holds the run's row. Several tasks at once: a mapped task alone, or all
tasks of a mapped group. One statement for each kind of change, whatever the number of instances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.statements import execute
from treadle_metadata.states import TaskState, may_follow

_INSERT: Final = """
    INSERT INTO task_instance (month, dag_run_id, dag_id, task_id, map_index, state, max_tries, operator,
                               pool, pool_slots, queue, executor, priority_weight, scheduled_at, is_backfill)
    SELECT %(month)s, run.id, run.dag_id, new.task_id, item, %(state)s, new.max_tries, new.operator,
           new.pool, new.pool_slots, new.queue, new.executor, new.priority_weight,
           CASE WHEN %(state)s = 'scheduled' THEN %(now)s::timestamptz END, run.backfill_id IS NOT NULL
    FROM unnest(%(task_id)s::text[], %(max_tries)s::int[], %(operator)s::text[], %(pool)s::text[],
                %(pool_slots)s::int[], %(queue)s::text[], %(executor)s::text[], %(priority_weight)s::int[])
         WITH ORDINALITY
         AS new (task_id, max_tries, operator, pool, pool_slots, queue, executor, priority_weight, number)
         CROSS JOIN generate_series(0, %(length)s - 1) AS item
         JOIN dag_run AS run ON run.id = %(dag_run_id)s
    ORDER BY item, new.number
    ON CONFLICT (dag_run_id, task_id, map_index, month) DO NOTHING
"""

_COLUMNS: Final = ("task_id", "max_tries", "operator", "pool", "pool_slots", "queue", "executor", "priority_weight")

_REMOVE: Final = """
    UPDATE task_instance
    SET state = 'removed', ended_at = %(now)s
    WHERE month = %(month)s AND dag_run_id = %(dag_run_id)s AND task_id = ANY(%(task_ids)s)
      AND map_index >= %(length)s AND state = ANY(%(lawful)s)
"""

_BRING_BACK: Final = """
    UPDATE task_instance SET state = 'none', ended_at = NULL
    WHERE month = %(month)s AND dag_run_id = %(dag_run_id)s AND task_id = ANY(%(task_ids)s)
      AND map_index < %(length)s AND state = 'removed'
"""

_RENUMBER: Final = """
    UPDATE task_instance SET map_index = %(new)s
    WHERE month = %(month)s AND dag_run_id = %(dag_run_id)s AND task_id = ANY(%(task_ids)s) AND map_index = %(old)s
      AND (state = 'none' OR %(old)s < 0)
"""


def give_instances(
    connection: Connection,
    dag_run_id: int,
    tasks: Sequence[Mapping[str, Any]],
    length: int,
    state: TaskState,
    *,
    month: date,
    now: datetime,
) -> None:
    """Make the instances of tasks those with the indexes below ``length``, which is 1 or more.

    The placeholder (index -1) becomes instance 0, new ones are made in ``state``, removed ones come back undecided,
    and those beyond are removed (case A35). ``tasks`` are rows of task instances.
    """
    names = [task["task_id"] for task in tasks]
    parameters = {"dag_run_id": dag_run_id, "task_ids": names, "length": length, "month": month, "now": now}
    execute(connection, _RENUMBER, parameters | {"old": -1, "new": 0})
    execute(connection, _BRING_BACK, parameters)
    columns = {name: [task[name] for task in tasks] for name in _COLUMNS}
    execute(connection, _INSERT, parameters | columns | {"state": state.value})
    execute(connection, _REMOVE, parameters | {"lawful": list(may_follow(TaskState.REMOVED))})


def keep_placeholders(
    connection: Connection, dag_run_id: int, task_ids: Sequence[str], *, month: date, now: datetime
) -> None:
    """Leave mapped tasks that have no items nothing but their placeholders: what they had before is removed."""
    parameters = {"dag_run_id": dag_run_id, "task_ids": list(task_ids), "month": month}
    lawful = list(may_follow(TaskState.REMOVED))
    execute(connection, _REMOVE, parameters | {"length": 1, "lawful": lawful, "now": now})
    execute(connection, _RENUMBER, parameters | {"old": 0, "new": -1})
