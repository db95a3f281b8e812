"""What the admission of tasks reads: what is under way, pools' sizes, and scheduled instances in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.deciding.limits import Load
from treadle_metadata.statements import rows, tuples


def active_counts(connection: Connection) -> Sequence[Any]:
    """Return (run, DAG, task, pool, number, slots) of active instances; deferred ones where their pool counts them."""
    return tuples(
        connection,
        """
        SELECT instance.dag_run_id, instance.dag_id, instance.task_id, instance.pool, count(*),
               sum(instance.pool_slots)::bigint
        FROM task_instance AS instance LEFT JOIN slot_pool ON slot_pool.name = instance.pool
        WHERE instance.state IN ('queued', 'running', 'restarting', 'deferred')
          AND (instance.state <> 'deferred' OR slot_pool.include_deferred)
        GROUP BY instance.dag_run_id, instance.dag_id, instance.task_id, instance.pool
        """,
    )


def current_load(connection: Connection) -> Load:
    """Return what is under way in the whole installation."""
    load = Load()
    for run, dag_id, task_id, pool, count, slots in active_counts(connection):
        load.add(dag_run_id=run, dag_id=dag_id, task_id=task_id, pool=pool, slots=slots, count=count)
    return load


def pool_slots(connection: Connection) -> dict[str, int]:
    """Return the size of each pool."""
    return {row[0]: row[1] for row in tuples(connection, "SELECT name, slots FROM slot_pool")}


@dataclass(slots=True)
class Full:
    """What can take no further instance now, so that its instances need not be looked at."""

    pools: set[str] = field(default_factory=set)
    runs: set[int] = field(default_factory=set)
    tasks: set[tuple[str, str]] = field(default_factory=set)
    """DAG and task."""
    tasks_in_runs: set[tuple[int, str]] = field(default_factory=set)
    """Run and task."""


def candidates(connection: Connection, *, most: int, full: Full) -> Sequence[Mapping[str, Any]]:
    """Return, for each pool, its first ``most`` scheduled instances by priority weight, then age of their run.

    Left out are instances of what is ``full``, of DAGs that are paused or gone from their file, and of runs that are
    not running. The file and its hash are read each time: an edit that leaves the DAG as it was makes no new version.
    """
    return rows(
        connection,
        """
        SELECT picked.*, run.run_id, run.version_id, run.run_type, run.logical_date, run.interval_start,
               run.interval_end, run.run_after, run.started_at AS run_started_at, run.conf, run.triggered_by,
               run.clear_number, dag.file, version.file_hash
        FROM slot_pool CROSS JOIN LATERAL (
            SELECT id, month, dag_run_id, dag_id, task_id, map_index, try_number, max_tries, pool, pool_slots, queue,
                   executor, priority_weight
            FROM task_instance AS instance
            WHERE instance.state = 'scheduled' AND instance.pool = slot_pool.name
              AND instance.dag_run_id <> ALL(%(full_runs)s)
              AND (instance.dag_id, instance.task_id) NOT IN (
                  SELECT * FROM unnest(%(full_dag_ids)s::text[], %(full_task_ids)s::text[]))
              AND (instance.dag_run_id, instance.task_id) NOT IN (
                  SELECT * FROM unnest(%(full_task_runs)s::bigint[], %(full_tasks_of_runs)s::text[]))
              AND NOT EXISTS (
                  SELECT FROM dag WHERE dag.dag_id = instance.dag_id AND (dag.is_paused OR NOT dag.is_active))
              AND EXISTS (SELECT FROM dag_run AS own WHERE own.id = instance.dag_run_id AND own.state = 'running')
            ORDER BY instance.priority_weight DESC, instance.dag_run_id, instance.id
            LIMIT %(most)s
        ) AS picked
        JOIN dag_run AS run ON run.id = picked.dag_run_id
        JOIN dag_version AS version ON version.id = run.version_id
        JOIN dag ON dag.dag_id = run.dag_id
        WHERE slot_pool.name <> ALL(%(full_pools)s)
        ORDER BY picked.priority_weight DESC, picked.dag_run_id, picked.id
        """,
        {
            "most": most,
            "full_pools": list(full.pools),
            "full_runs": list(full.runs),
            "full_dag_ids": [dag for dag, _ in full.tasks],
            "full_task_ids": [task for _, task in full.tasks],
            "full_task_runs": [run for run, _ in full.tasks_in_runs],
            "full_tasks_of_runs": [task for _, task in full.tasks_in_runs],
        },
    )


def places_of(connection: Connection, attempt_ids: Sequence[UUID]) -> dict[UUID, tuple[int, date, str]]:
    """Return the instance, partition month and state of each of these attempts that is still active."""
    found = tuples(
        connection,
        """
        SELECT attempt_id, id, month, state FROM task_instance
        WHERE state IN ('queued', 'running', 'restarting') AND attempt_id = ANY(%(ids)s)
        """,
        {"ids": list(attempt_ids)},
    )
    return {row[0]: (row[1], row[2], row[3]) for row in found}
