"""Moves of task instances that the scheduler or a person decides upon.

The scheduler decides for all instances of a task in a run at once (mapped or not), so the set moved is named by run
and task; the guard is the list of states from which the move is lawful.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.statements import execute, tuples
from treadle_metadata.states import ACTIVE, FINISHED, TaskState, may_follow
from treadle_metadata.transitions import deferred, suspended

_INSERT: Final = """
    INSERT INTO task_instance (month, dag_run_id, dag_id, task_id, map_index, state, max_tries, operator,
                               pool, pool_slots, queue, executor, priority_weight, scheduled_at, is_backfill)
    SELECT %(month)s, new.dag_run_id, new.dag_id, new.task_id, new.map_index, new.state, new.max_tries, new.operator,
           new.pool, new.pool_slots, new.queue, new.executor, new.priority_weight,
           CASE WHEN new.state = 'scheduled' THEN %(now)s::timestamptz END,
           EXISTS (SELECT FROM dag_run AS run WHERE run.id = new.dag_run_id AND run.backfill_id IS NOT NULL)
    FROM unnest(%(dag_run_id)s::bigint[], %(dag_id)s::text[], %(task_id)s::text[], %(map_index)s::int[],
                %(state)s::text[], %(max_tries)s::int[], %(operator)s::text[], %(pool)s::text[],
                %(pool_slots)s::int[], %(queue)s::text[], %(executor)s::text[], %(priority_weight)s::int[])
         AS new (dag_run_id, dag_id, task_id, map_index, state, max_tries, operator, pool, pool_slots, queue, executor,
                 priority_weight)
    ON CONFLICT (dag_run_id, task_id, map_index, month) DO NOTHING
"""

_COLUMNS: Final = (
    "dag_run_id",
    "dag_id",
    "task_id",
    "map_index",
    "state",
    "max_tries",
    "operator",
    "pool",
    "pool_slots",
    "queue",
    "executor",
    "priority_weight",
)

_DECIDE: Final = """
    UPDATE task_instance AS instance
    SET state = %(state)s,
        scheduled_at = CASE WHEN %(state)s = 'scheduled' THEN %(now)s ELSE instance.scheduled_at END,
        started_at = CASE WHEN %(finished)s AND instance.started_at IS NULL AND %(state)s = 'success'
                          THEN %(now)s ELSE instance.started_at END,
        ended_at = CASE WHEN %(finished)s THEN %(now)s ELSE NULL END,
        waiting_for = NULL
    FROM unnest(%(dag_run_ids)s::bigint[], %(task_ids)s::text[]) AS decided (dag_run_id, task_id)
    WHERE instance.month = %(month)s
      AND instance.dag_run_id = decided.dag_run_id
      AND instance.task_id = decided.task_id
      AND instance.state = 'none'
"""

_DECIDE_INSTANCES: Final = """
    UPDATE task_instance AS instance
    SET state = %(state)s,
        scheduled_at = CASE WHEN %(state)s = 'scheduled' THEN %(now)s ELSE instance.scheduled_at END,
        started_at = CASE WHEN %(finished)s AND instance.started_at IS NULL AND %(state)s = 'success'
                          THEN %(now)s ELSE instance.started_at END,
        ended_at = CASE WHEN %(finished)s THEN %(now)s ELSE NULL END,
        waiting_for = NULL
    FROM unnest(%(dag_run_ids)s::bigint[], %(task_ids)s::text[], %(map_indexes)s::int[])
         AS decided (dag_run_id, task_id, map_index)
    WHERE instance.month = %(month)s
      AND instance.dag_run_id = decided.dag_run_id
      AND instance.task_id = decided.task_id
      AND instance.map_index = decided.map_index
      AND instance.state = 'none'
"""

_RETRY: Final = """
    UPDATE task_instance
    SET state = 'scheduled', scheduled_at = %(now)s, ended_at = NULL
    WHERE month = %(month)s AND dag_run_id = ANY(%(dag_run_ids)s)
      AND state IN ('up_for_retry', 'up_for_reschedule') AND next_retry_at <= %(now)s
    RETURNING dag_run_id, task_id
"""

# Rows are locked in the order of their ids and read as they are then, not as an older snapshot had them. A queued
# attempt never started: its try is not counted and its start will be refused.
# What had ended keeps its end: a person's mark says what it came to, not how long it took.
_MARK: Final = """
    WITH was AS (
        SELECT id, state, attempt_id FROM task_instance
        WHERE month = %(month)s AND id = ANY(%(ids)s) AND state = ANY(%(lawful)s)
        ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE task_instance AS instance
    SET state = %(state)s, lease_until = NULL, waiting_for = NULL,
        ended_at = CASE WHEN was.state = ANY(%(finished)s) THEN coalesce(instance.ended_at, %(now)s) ELSE %(now)s END,
        try_number = instance.try_number - (was.state = 'queued')::int,
        attempt_id = CASE WHEN was.state <> 'queued' THEN was.attempt_id END
    FROM was WHERE instance.month = %(month)s AND instance.id = was.id
    RETURNING instance.id, instance.dag_run_id, was.attempt_id, was.state
"""

_END: Final = """
    WITH was AS (
        SELECT id, state, attempt_id FROM task_instance
        WHERE month = %(month)s AND dag_run_id = ANY(%(dag_run_ids)s) AND state <> ALL(%(finished)s)
          AND task_id <> ALL(%(sparing)s::text[])
        ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE task_instance AS instance
    SET state = CASE WHEN was.state = ANY(%(active)s) THEN %(state)s ELSE 'skipped' END,
        ended_at = %(now)s, lease_until = NULL, waiting_for = NULL,
        try_number = instance.try_number - (was.state = 'queued')::int,
        attempt_id = CASE WHEN was.state <> 'queued' THEN was.attempt_id END
    FROM was WHERE instance.month = %(month)s AND instance.id = was.id
    RETURNING instance.id, instance.dag_run_id, was.attempt_id, was.state
"""

_CLEAR: Final = """
    WITH was AS (
        SELECT id, state, attempt_id FROM task_instance
        WHERE month = %(month)s AND id = ANY(%(ids)s) AND state = ANY(%(states)s)
        ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE task_instance AS instance
    SET state = CASE WHEN was.state = 'running' THEN 'restarting' ELSE 'none' END,
        ended_at = NULL, next_retry_at = NULL, waiting_for = NULL,
        started_at = CASE WHEN was.state = 'running' THEN instance.started_at END,
        lease_until = CASE WHEN was.state = 'running' THEN instance.lease_until END,
        try_number = instance.try_number - (was.state = 'queued')::int,
        max_tries = instance.try_number - (was.state = 'queued')::int + cleared.retries,
        attempt_id = CASE WHEN was.state <> 'queued' THEN was.attempt_id END
    FROM was JOIN unnest(%(ids)s::bigint[], %(retries)s::int[]) AS cleared (id, retries) USING (id)
    WHERE instance.month = %(month)s AND instance.id = was.id
    RETURNING instance.id, instance.dag_run_id, was.attempt_id, was.state
"""

# A cleared instance starts from nothing: whoever reads its XComs before it has run again finds none.
_FORGET_XCOMS: Final = "DELETE FROM xcom WHERE month = %(month)s AND task_instance_id = ANY(%(ids)s)"

# It is to be done anew: what the former journal recorded stays as evidence, and its keys are not used again.
_DISCARD_JOURNALS: Final = """
    UPDATE durable_journal SET discarded_at = %(now)s
    WHERE month = %(month)s AND task_instance_id = ANY(%(ids)s) AND discarded_at IS NULL
"""

# The time of a sensor's wait begins anew.
_FORGET_WAITS: Final = "DELETE FROM sensor_wait WHERE month = %(month)s AND task_instance_id = ANY(%(ids)s)"

_WITHDRAW: Final = """
    DELETE FROM task_attempt WHERE month = %(month)s AND attempt_id = ANY(%(attempt_ids)s) AND outcome IS NULL
"""

# Its worker is told to end it and will say how that went; if it dies first, the row is closed all the same.
_CLOSE_MARKED: Final = """
    UPDATE task_attempt SET outcome = 'withdrawn', ended_at = %(now)s, error = %(error)s::jsonb
    WHERE month = %(month)s AND attempt_id = ANY(%(attempt_ids)s) AND outcome IS NULL
"""

_GIVEN_ANOTHER_STATE: Final = "its task was given another state, or its run ended"

TAKES_STATE: Final = ACTIVE | {TaskState.DEFERRED}
"""Whatever is in one of these states when its run is ended takes the run's state; what has not started is skipped."""

MOST_RETRIES: Final = 2**30
"""More would not fit the columns, once counted on from the tries that an instance has had."""


def insert_instances(connection: Connection, new: Sequence[Mapping[str, Any]], *, month: date, now: datetime) -> None:
    """Insert task instances of runs of ``month``; one that exists already stays as it is."""
    if new:
        columns = {name: [one[name] for one in new] for name in _COLUMNS}
        execute(connection, _INSERT, columns | {"month": month, "now": now})


def decide(
    connection: Connection, decided: Sequence[tuple[int, str]], state: TaskState, *, month: date, now: datetime
) -> int:
    """Move all undecided instances of the given (run, task) pairs to ``state``; return how many moved."""
    if not decided:
        return 0
    return execute(
        connection,
        _DECIDE,
        {
            "state": state.value,
            "finished": state in FINISHED,
            "dag_run_ids": [run for run, _ in decided],
            "task_ids": [task for _, task in decided],
            "month": month,
            "now": now,
        },
    )


def decide_instances(
    connection: Connection, decided: Sequence[tuple[int, str, int]], state: TaskState, *, month: date, now: datetime
) -> int:
    """Move undecided instances, named by run, task and map index, to ``state``; return how many moved."""
    if not decided:
        return 0
    return execute(
        connection,
        _DECIDE_INSTANCES,
        {
            "state": state.value,
            "finished": state in FINISHED,
            "dag_run_ids": [run for run, _, _ in decided],
            "task_ids": [task for _, task, _ in decided],
            "map_indexes": [map_index for _, _, map_index in decided],
            "month": month,
            "now": now,
        },
    )


def schedule_due_retries(
    connection: Connection, dag_run_ids: Sequence[int], *, month: date, now: datetime
) -> Sequence[Any]:
    """Move the instances of these runs whose retry or reschedule time has come to scheduled; return (run, task)."""
    if not dag_run_ids:
        return []
    return tuples(connection, _RETRY, {"dag_run_ids": list(dag_run_ids), "month": month, "now": now})


def mark(
    connection: Connection,
    ids: Sequence[int],
    state: TaskState,
    *,
    month: date,
    now: datetime,
    why: str = _GIVEN_ANOTHER_STATE,
) -> Sequence[Any]:
    """Set instances to a finished ``state`` as a person asked; ``why`` is kept with the attempts under way.

    Returns (id, run, attempt id, state before) of those that moved.
    """
    moved = tuples(
        connection,
        _MARK,
        {
            "ids": list(ids),
            "state": state.value,
            "lawful": list(may_follow(state)),
            "finished": sorted(FINISHED),
            "month": month,
            "now": now,
        },
    )
    _withdraw(connection, moved, month)
    _close_marked(connection, moved, why, month=month, now=now)
    deferred.take_away(connection, [row[0] for row in moved], state.value, month=month, now=now)
    suspended.withdraw_questions(connection, [row[0] for row in moved], month=month, now=now)
    return moved


def end(
    connection: Connection,
    dag_run_ids: Sequence[int],
    state: TaskState,
    *,
    sparing: Sequence[str] = (),
    month: date,
    now: datetime,
    why: str = _GIVEN_ANOTHER_STATE,
) -> Sequence[Any]:
    """End all that is not finished in runs: what is under way takes ``state``, what has not started is skipped.

    Instances of the tasks ``sparing`` go on.

    Returns (id, run, attempt id, state before) of those that moved.
    """
    moved = tuples(
        connection,
        _END,
        {
            "dag_run_ids": list(dag_run_ids),
            "sparing": list(sparing),
            "state": state.value,
            "active": sorted(TAKES_STATE),
            "finished": sorted(FINISHED),
            "month": month,
            "now": now,
        },
    )
    _withdraw(connection, moved, month)
    _close_marked(connection, moved, why, month=month, now=now)
    deferred.take_away(connection, [row[0] for row in moved], state.value, month=month, now=now)
    suspended.withdraw_questions(connection, [row[0] for row in moved], month=month, now=now)
    return moved


def clear(
    connection: Connection,
    ids: Sequence[int],
    retries: Sequence[int],
    states: Sequence[str],
    *,
    month: date,
    now: datetime,
) -> Sequence[Any]:
    """Set instances that are in one of ``states`` back to undecided, a running one to restarting.

    They get ``retries`` further tries each; their XComs are forgotten and their journals discarded. Returns (id, run,
    attempt id, state before) of those that moved.
    """
    parameters = {"ids": list(ids), "retries": list(retries), "states": list(states), "month": month}
    moved = tuples(connection, _CLEAR, parameters)
    for sql in (_FORGET_XCOMS, _DISCARD_JOURNALS, _FORGET_WAITS):
        execute(connection, sql, {"ids": [row[0] for row in moved], "month": month, "now": now})
    deferred.take_away(connection, [row[0] for row in moved], "cleared", month=month, now=now)
    suspended.withdraw_questions(connection, [row[0] for row in moved], answered_too=True, month=month, now=now)
    _withdraw(connection, moved, month)
    return moved


def _withdraw(connection: Connection, moved: Sequence[Any], month: date) -> None:
    """Forget the attempts of instances that were queued: they will never start, so nobody will close them."""
    queued = [row[2] for row in moved if row[3] == TaskState.QUEUED]
    if queued:
        execute(connection, _WITHDRAW, {"attempt_ids": queued, "month": month})


def _close_marked(connection: Connection, moved: Sequence[Any], why: str, *, month: date, now: datetime) -> None:
    """Close the attempts of instances that were ended while they ran."""
    running = [row[2] for row in moved if row[3] in (TaskState.RUNNING, TaskState.RESTARTING)]
    if running:
        error = {"kind": "terminated", "type": "Withdrawn", "message": f"the attempt was ended while it ran: {why}"}
        parameters = {"attempt_ids": running, "error": json.dumps(error), "month": month, "now": now}
        execute(connection, _CLOSE_MARKED, parameters)
