"""What the scheduler's duties read and plan beside state changes: due times, wake-ups, counts.

Every question here touches unfinished rows only, through a partial index (design section 3.3).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.statements import execute, rows, tuples, tuples_of_each
from treadle_metadata.states import FINISHED, TaskState

_BUSY: Final = frozenset(TaskState) - FINISHED - {TaskState.NONE}
"""The states in which something is under way or about to be, without anybody's decision."""


_STARTABLE: Final = """
    WITH RECURSIVE locked AS (
        SELECT * FROM unnest(%(dag_ids)s::text[], %(limits)s::int[], %(in_order)s::bool[])
            AS locked (dag_id, most, in_order)
    ), room AS (
        SELECT dag_id, in_order, least(%(most)s, locked.most - (
            SELECT count(*) FROM dag_run
            WHERE dag_id = locked.dag_id AND state = 'running' AND backfill_id IS NULL)) AS most
        FROM locked
    ), filling AS (
        SELECT dag_id, in_order, 0::bigint AS backfill_id FROM locked
        UNION ALL
        SELECT filling.dag_id, filling.in_order, following.backfill_id FROM filling CROSS JOIN LATERAL (
            SELECT backfill_id FROM dag_run
            WHERE state = 'queued' AND dag_id = filling.dag_id AND backfill_id > filling.backfill_id
            ORDER BY backfill_id LIMIT 1
        ) AS following
    ), backfill_room AS (
        SELECT filling.dag_id, backfill.id, backfill.run_backwards AND NOT filling.in_order AS backwards,
               least(%(most)s, backfill.max_active_runs - (
                   SELECT count(*) FROM dag_run
                   WHERE dag_id = filling.dag_id AND backfill_id = backfill.id AND state = 'running')) AS most
        FROM filling JOIN backfill ON backfill.id = filling.backfill_id
        WHERE backfill.completed_at IS NOT NULL OR NOT backfill.is_paused
    ), startable AS (
        SELECT run.* FROM room CROSS JOIN LATERAL (
            SELECT *, row_number() OVER (ORDER BY run_after, id) AS place FROM (
                SELECT * FROM dag_run
                WHERE dag_id = room.dag_id AND state = 'queued' AND run_after <= %(now)s AND backfill_id IS NULL
                ORDER BY run_after, id LIMIT greatest(0, room.most)
            ) AS first
        ) AS run WHERE NOT room.in_order
        UNION ALL
        SELECT run.* FROM room CROSS JOIN LATERAL (
            SELECT *, row_number() OVER (ORDER BY coalesce(logical_date, run_after), run_after, id) AS place FROM (
                SELECT * FROM dag_run
                WHERE dag_id = room.dag_id AND state = 'queued' AND run_after <= %(now)s AND backfill_id IS NULL
                ORDER BY coalesce(logical_date, run_after), run_after, id LIMIT greatest(0, room.most)
            ) AS first
        ) AS run WHERE room.in_order
        UNION ALL
        SELECT run.* FROM backfill_room AS room CROSS JOIN LATERAL (
            SELECT *, row_number() OVER (ORDER BY logical_date) AS place FROM (
                SELECT * FROM dag_run
                WHERE dag_id = room.dag_id AND backfill_id = room.id AND state = 'queued'
                ORDER BY logical_date LIMIT greatest(0, room.most)
            ) AS first
        ) AS run WHERE NOT room.backwards
        UNION ALL
        SELECT run.* FROM backfill_room AS room CROSS JOIN LATERAL (
            SELECT *, row_number() OVER (ORDER BY logical_date DESC) AS place FROM (
                SELECT * FROM dag_run
                WHERE dag_id = room.dag_id AND backfill_id = room.id AND state = 'queued'
                ORDER BY logical_date DESC LIMIT greatest(0, room.most)
            ) AS first
        ) AS run WHERE room.backwards
    )
    SELECT id, dag_id, run_id, version_id, month, run_after, clear_number > 0 OR started_at IS NOT NULL AS has_instances
    FROM startable ORDER BY place, run_after, id LIMIT %(most)s
"""


_NEXT_DUE: Final = """
    SELECT next_run_at FROM dag
    WHERE NOT is_paused AND is_active AND NOT at_run_limit AND next_run_at > %(now)s
    ORDER BY next_run_at LIMIT 1
"""

_HELD_BACK: Final = "SELECT FROM dag WHERE at_run_limit AND NOT is_paused AND is_active LIMIT 1"

# The end of a run releases its DAG too; this catches the end that commits while the DAG is being held back.
_RELEASE_RUN_LIMITS: Final = """
    UPDATE dag SET at_run_limit = false
    WHERE at_run_limit AND least(coalesce(max_active_runs, %(default)s), schedule_run_limit) > (
        SELECT count(*) FROM dag_run AS run
        WHERE run.dag_id = dag.dag_id AND run.state IN ('queued', 'running') AND run.backfill_id IS NULL
          AND (run.state = 'running' OR run.run_after <= %(now)s))
"""


def release_run_limits(connection: Connection, *, default: int, now: datetime) -> int:
    """Let DAGs make runs again that were held back by their run limit and are below it now."""
    return execute(connection, _RELEASE_RUN_LIMITS, {"default": default, "now": now})


def next_due(connection: Connection, *, now: datetime) -> tuple[datetime | None, bool]:
    """Return when the next scheduled run of any DAG is due after ``now``, and whether a DAG is held at its limit."""
    due, held_back = tuples_of_each(connection, (_NEXT_DUE, {"now": now}), (_HELD_BACK, {}))
    return due[0][0] if due else None, bool(held_back)


def any_held_back(connection: Connection) -> bool:
    """Tell whether a DAG that could make runs is held back by its run limit."""
    return bool(tuples(connection, _HELD_BACK, {}))


def runs_under_way(connection: Connection, dag_ids: Sequence[str], *, now: datetime) -> dict[str, int]:
    """Return how many queued and running runs each DAG has, backfills and runs meant for a later time apart."""
    found = tuples(
        connection,
        """
        SELECT dag_id, count(*) FROM dag_run
        WHERE dag_id = ANY(%(dag_ids)s) AND state IN ('queued', 'running') AND backfill_id IS NULL
          AND (state = 'running' OR run_after <= %(now)s)
        GROUP BY dag_id
        """,
        {"dag_ids": list(dag_ids), "now": now},
    )
    return {row[0]: row[1] for row in found}


def startable_runs(
    connection: Connection, limits: Mapping[str, int], in_order: Collection[str], *, now: datetime, most: int
) -> Sequence[Mapping[str, Any]]:
    """Return the queued runs of these (locked) DAGs that may start within ``limits``: each DAG's oldest, in turn.

    Backfill runs count against their backfill's own limit, in its order, all others against their DAG's. One that is
    cleared after its backfill is over still starts. Only unfinished runs are read, however many a backfill has had.
    Of the DAGs ``in_order``, whose tasks wait for the run before, the run with the oldest logical date goes first.
    """
    return rows(
        connection,
        _STARTABLE,
        {
            "dag_ids": list(limits),
            "limits": list(limits.values()),
            "in_order": [dag_id in in_order for dag_id in limits],
            "now": now,
            "most": most,
        },
    )


def runs_in_the_way(connection: Connection, limits: Mapping[str, int]) -> list[int]:
    """Return running runs of these (locked) DAGs that hold the place of the run before theirs, and do nothing in it.

    Their DAG, or their backfill, is at its limit; the run before theirs by logical date is queued within the same
    limit; nothing of theirs is under way. That one is older: no two runs give way to each other for ever.
    """
    found = tuples(
        connection,
        """
        SELECT run.id FROM unnest(%(dag_ids)s::text[], %(limits)s::int[]) AS locked (dag_id, most)
        JOIN dag_run AS run ON run.dag_id = locked.dag_id AND run.state = 'running'
        LEFT JOIN backfill ON backfill.id = run.backfill_id
        CROSS JOIN LATERAL (
            SELECT state, backfill_id FROM dag_run AS earlier
            WHERE earlier.dag_id = run.dag_id AND earlier.logical_date < run.logical_date
            ORDER BY earlier.logical_date DESC LIMIT 1) AS previous
        WHERE previous.state = 'queued' AND previous.backfill_id IS NOT DISTINCT FROM run.backfill_id
          AND coalesce(backfill.max_active_runs, locked.most) <= (
              SELECT count(*) FROM dag_run AS other
              WHERE other.dag_id = run.dag_id AND other.state = 'running'
                AND other.backfill_id IS NOT DISTINCT FROM run.backfill_id)
          AND EXISTS (
              SELECT FROM task_instance AS instance
              WHERE instance.month = run.month AND instance.dag_run_id = run.id AND instance.state = 'none')
          AND NOT EXISTS (
              SELECT FROM task_instance AS instance
              WHERE instance.month = run.month AND instance.dag_run_id = run.id AND instance.state = ANY(%(busy)s))
        """,
        {"dag_ids": list(limits), "limits": list(limits.values()), "busy": sorted(_BUSY)},
    )
    return [row[0] for row in found]


def next_queued_run_due(connection: Connection, *, now: datetime) -> datetime | None:
    """Return when the next queued run that waits for its time may start."""
    return _moment(
        connection,
        "SELECT min(run_after) FROM dag_run WHERE state = 'queued' AND run_after > %(now)s",
        {"now": now},
    )


def next_wakeup(connection: Connection) -> datetime | None:
    """Return when the next wake-up is due, those of this transaction included."""
    return _moment(connection, "SELECT due_at FROM run_wakeup ORDER BY due_at LIMIT 1", {})


def state_counts(
    connection: Connection, dag_run_ids: Sequence[int], *, month: date
) -> dict[int, dict[str, dict[str, int]]]:
    """Return, for each run, each task's numbers of instances by state: the snapshot that readiness is decided on."""
    if not dag_run_ids:
        return {}
    found = tuples(
        connection,
        """
        SELECT dag_run_id, task_id, state, count(*) FROM task_instance
        WHERE month = %(month)s AND dag_run_id = ANY(%(ids)s)
        GROUP BY dag_run_id, task_id, state
        """,
        {"ids": list(dag_run_ids), "month": month},
    )
    counts: dict[int, dict[str, dict[str, int]]] = {}
    for run, task, state, count in found:
        counts.setdefault(run, {}).setdefault(task, {})[state] = count
    return counts


def instance_states(connection: Connection, dag_run_ids: Sequence[int], *, month: date) -> Sequence[Any]:
    """Return (run, task, map index, state) of all instances of these runs: what a scheduler remembers of them."""
    if not dag_run_ids:
        return []
    return tuples(
        connection,
        """
        SELECT dag_run_id, task_id, map_index, state FROM task_instance
        WHERE month = %(month)s AND dag_run_id = ANY(%(ids)s)
        """,
        {"ids": list(dag_run_ids), "month": month},
    )


def changed_states(connection: Connection, ids: Sequence[int], *, month: date) -> Sequence[Any]:
    """Return (run, task, map index, state, id) of these instances, as they are now."""
    if not ids:
        return []
    return tuples(
        connection,
        """
        SELECT dag_run_id, task_id, map_index, state, id FROM task_instance
        WHERE month = %(month)s AND id = ANY(%(ids)s)
        """,
        {"ids": list(ids), "month": month},
    )


def mapped_length(connection: Connection, dag_run_id: int, task_id: str, key: str, *, month: date) -> int | None:
    """Return how many items a task handed on for mapping: the length of its XCom, or its number of mapped instances.

    None: it pushed nothing that can be mapped over (a mapped task over nothing has just a placeholder, so none, too).
    """
    found = tuples(
        connection,
        """
        SELECT max(instance.map_index), count(xcom.length), max(xcom.length), count(*)
        FROM task_instance AS instance
        LEFT JOIN xcom ON xcom.task_instance_id = instance.id AND xcom.month = instance.month AND xcom.key = %(key)s
        WHERE instance.month = %(month)s AND instance.dag_run_id = %(dag_run_id)s AND instance.task_id = %(task_id)s
          AND instance.state <> 'removed'
        """,
        {"dag_run_id": dag_run_id, "task_id": task_id, "key": key, "month": month},
    )
    highest, pushed, length, instances = found[0]
    if highest is not None and highest >= 0:
        return int(instances)
    return int(length) if pushed else None


def past_states(
    connection: Connection, dag_run_ids: Sequence[int], task_ids: Sequence[str]
) -> dict[int, dict[str, set[str]]]:
    """Return, for each run, the states of these tasks' instances in the run before it by logical date.

    Of a run that has never started, and so has no instances, all are to come: they count as undecided.
    """
    found = tuples(
        connection,
        """
        SELECT run.id, instance.task_id, instance.state
        FROM dag_run AS run CROSS JOIN LATERAL (
            SELECT id, month, state FROM dag_run AS earlier
            WHERE earlier.dag_id = run.dag_id AND earlier.logical_date < run.logical_date
            ORDER BY earlier.logical_date DESC LIMIT 1) AS previous
        LEFT JOIN task_instance AS instance ON instance.dag_run_id = previous.id AND instance.month = previous.month
             AND instance.task_id = ANY(%(task_ids)s)
        WHERE run.id = ANY(%(ids)s) AND (instance.id IS NOT NULL OR previous.state = 'queued')
        """,
        {"ids": list(dag_run_ids), "task_ids": list(task_ids)},
    )
    states: dict[int, dict[str, set[str]]] = {}
    for run, task, state in found:
        for one in task_ids if task is None else [task]:
            states.setdefault(run, {}).setdefault(one, set()).add(state or TaskState.NONE)
    return states


def explain(connection: Connection, dag_run_id: int, task_id: str, reason: str, *, month: date) -> None:
    """Store why the scheduler decided as it did for a task's instances."""
    execute(
        connection,
        """
        UPDATE task_instance SET waiting_for = %(reason)s
        WHERE month = %(month)s AND dag_run_id = %(dag_run_id)s AND task_id = %(task_id)s
        """,
        {"dag_run_id": dag_run_id, "task_id": task_id, "reason": reason, "month": month},
    )


EVALUATION: Final = "evaluation"
"""The kind of a DAG's warning that one of its runs cannot be advanced (``dag_warnings``)."""


def not_advanced(run_id: str, reason: str) -> str:
    """Return the warning that a run cannot be advanced, and why."""
    return f"run {run_id!r} cannot be advanced: {reason}"


def _moment(connection: Connection, sql: Any, parameters: Mapping[str, Any]) -> datetime | None:
    found = tuples(connection, sql, parameters)
    return found[0][0] if found else None
