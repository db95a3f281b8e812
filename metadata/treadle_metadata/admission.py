"""What the admission of tasks reads: what is under way, pools' sizes, and scheduled instances in their order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.statements import rows, tuples


def active_counts(connection: Connection) -> Sequence[Any]:
    """Return (run, DAG, task, pool, number, slots) of active instances; deferred ones where their pool counts them."""
    return tuples(
        connection,
        """
        SELECT instance.dag_run_id, instance.dag_id, instance.task_id, instance.pool, count(*),
               sum(instance.pool_slots)::int
        FROM task_instance AS instance LEFT JOIN slot_pool ON slot_pool.name = instance.pool
        WHERE instance.state IN ('queued', 'running', 'restarting', 'deferred')
          AND (instance.state <> 'deferred' OR slot_pool.include_deferred)
        GROUP BY instance.dag_run_id, instance.dag_id, instance.task_id, instance.pool
        """,
    )


def pool_slots(connection: Connection) -> dict[str, int]:
    """Return the size of each pool."""
    return {row[0]: row[1] for row in tuples(connection, "SELECT name, slots FROM slot_pool")}


def candidates(
    connection: Connection, *, most: int, full_runs: Collection[int], full_tasks: Collection[tuple[int, str]]
) -> Sequence[Mapping[str, Any]]:
    """Return, for each pool, its first ``most`` scheduled instances by priority weight, then age of their run.

    Instances of paused DAGs, of ``full_runs`` and of ``full_tasks`` (run, task) are left out.
    """
    return rows(
        connection,
        """
        SELECT picked.*, run.run_id, run.version_id, run.run_type, run.logical_date, run.interval_start,
               run.interval_end, run.run_after, run.started_at AS run_started_at, run.conf, run.triggered_by,
               run.clear_number
        FROM slot_pool CROSS JOIN LATERAL (
            SELECT id, month, dag_run_id, dag_id, task_id, map_index, try_number, max_tries, pool, pool_slots, queue,
                   executor, priority_weight
            FROM task_instance AS instance
            WHERE instance.state = 'scheduled' AND instance.pool = slot_pool.name
              AND instance.dag_run_id <> ALL(%(full_runs)s)
              AND (instance.dag_run_id, instance.task_id) NOT IN (
                  SELECT * FROM unnest(%(full_task_runs)s::bigint[], %(full_task_ids)s::text[]))
              AND NOT EXISTS (SELECT FROM dag WHERE dag.dag_id = instance.dag_id AND dag.is_paused)
            ORDER BY instance.priority_weight DESC, instance.dag_run_id, instance.id
            LIMIT %(most)s
        ) AS picked
        JOIN dag_run AS run ON run.id = picked.dag_run_id
        ORDER BY picked.priority_weight DESC, picked.dag_run_id, picked.id
        """,
        {
            "most": most,
            "full_runs": list(full_runs),
            "full_task_runs": [run for run, _ in full_tasks],
            "full_task_ids": [task for _, task in full_tasks],
        },
    )


def places_of(connection: Connection, attempt_ids: Sequence[UUID]) -> dict[UUID, tuple[int, date]]:
    """Return the instance and partition month of each of these attempts that is still active."""
    found = tuples(
        connection,
        """
        SELECT attempt_id, id, month FROM task_instance
        WHERE state IN ('queued', 'running', 'restarting') AND attempt_id = ANY(%(ids)s)
        """,
        {"ids": list(attempt_ids)},
    )
    return {row[0]: (row[1], row[2]) for row in found}
