"""What a simulation reads: the definitions and the past of an installation, and what became of its own runs.

``definitions``, ``task_durations`` and ``result_lengths`` are asked of the installation, which they do not change;
``run_outcomes`` and ``attempt_outcomes`` of the simulation's scratch database. None is on a hot path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from treadle_metadata.statements import rows, tuples
from treadle_metadata.tables import asset, asset_alias, asset_reference, dag, dag_version, slot_pool

COPIED = (slot_pool, dag_version, dag, asset, asset_alias, asset_reference)
"""The tables that define what would run, in an order in which they can be filled."""


def definitions(connection: Connection) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of ``COPIED`` by table: of DAGs that are there, each with its newest version."""
    found: dict[str, list[dict[str, Any]]] = {}
    for table in COPIED:
        columns = [column for column in table.columns if column.computed is None]
        statement = select(*columns)
        if table is dag:
            statement = statement.where(dag.c.is_active, dag.c.version_id.is_not(None)).order_by(dag.c.dag_id)
        if table is dag_version:
            newest = select(dag.c.version_id).where(dag.c.is_active)
            statement = statement.where(dag_version.c.id.in_(newest)).order_by(dag_version.c.id)
        found[table.name] = [dict(row) for row in connection.execute(statement).mappings()]
    return found


def task_durations(
    connection: Connection, dag_ids: Sequence[str], *, since: datetime, percentile: float
) -> dict[tuple[str, str], float]:
    """Return, by DAG and task, the seconds that attempts which succeeded since ``since`` took: that percentile (0-1).

    Only the partitions of those months are read.
    """
    found = tuples(
        connection,
        """
        SELECT instance.dag_id, instance.task_id,
               percentile_cont(%(percentile)s) WITHIN GROUP (
                   ORDER BY extract(epoch FROM attempt.ended_at - attempt.started_at)::float8)
        FROM task_attempt AS attempt
        JOIN task_instance AS instance ON instance.id = attempt.task_instance_id AND instance.month = attempt.month
        WHERE attempt.month >= date_trunc('month', %(since)s::timestamptz AT TIME ZONE 'UTC')::date
          AND instance.month >= date_trunc('month', %(since)s::timestamptz AT TIME ZONE 'UTC')::date
          AND attempt.outcome = 'success' AND attempt.started_at >= %(since)s AND instance.dag_id = ANY(%(dag_ids)s)
        GROUP BY instance.dag_id, instance.task_id
        """,
        {"dag_ids": list(dag_ids), "since": since, "percentile": percentile},
    )
    return {(row[0], row[1]): max(0.0, row[2]) for row in found}


def result_lengths(
    connection: Connection, wanted: Sequence[tuple[str, str, str]], *, since: datetime
) -> dict[tuple[str, str, str], int]:
    """Return how many items these XComs (DAG, task, key) had in the newest run that pushed one since ``since``."""
    found = tuples(
        connection,
        """
        SELECT DISTINCT ON (wanted.dag_id, wanted.task_id, wanted.key)
               wanted.dag_id, wanted.task_id, wanted.key, xcom.length
        FROM unnest(%(dag_ids)s::text[], %(task_ids)s::text[], %(keys)s::text[]) AS wanted (dag_id, task_id, key)
        JOIN task_instance AS instance ON instance.dag_id = wanted.dag_id AND instance.task_id = wanted.task_id
        JOIN xcom ON xcom.task_instance_id = instance.id AND xcom.month = instance.month AND xcom.key = wanted.key
        WHERE instance.month >= date_trunc('month', %(since)s::timestamptz AT TIME ZONE 'UTC')::date
          AND instance.map_index = -1 AND xcom.length IS NOT NULL
        ORDER BY wanted.dag_id, wanted.task_id, wanted.key, instance.dag_run_id DESC
        """,
        {
            "dag_ids": [one[0] for one in wanted],
            "task_ids": [one[1] for one in wanted],
            "keys": [one[2] for one in wanted],
            "since": since,
        },
    )
    return {(row[0], row[1], row[2]): row[3] for row in found}


def run_outcomes(connection: Connection) -> Sequence[Mapping[str, Any]]:
    """Return every run, in the order of its time."""
    return rows(
        connection,
        """
        SELECT id, dag_id, run_id, run_after, logical_date, state, started_at, ended_at
        FROM dag_run ORDER BY run_after, dag_id, id
        """,
    )


def attempt_outcomes(connection: Connection) -> Sequence[Mapping[str, Any]]:
    """Return every attempt that started, in that order; one cut off with its run ends when its instance did."""
    return rows(
        connection,
        """
        SELECT instance.dag_run_id, instance.task_id, instance.map_index, instance.pool, instance.pool_slots,
               attempt.executor, attempt.try_number, attempt.queued_at, instance.scheduled_at,
               attempt.try_number = instance.try_number AS is_newest,
               coalesce(attempt.outcome, instance.state) AS outcome,
               coalesce(attempt.started_at, instance.started_at) AS started_at,
               CASE WHEN attempt.try_number = instance.try_number THEN least(attempt.ended_at, instance.ended_at)
                    ELSE attempt.ended_at END AS ended_at
        FROM task_attempt AS attempt
        JOIN task_instance AS instance ON instance.id = attempt.task_instance_id AND instance.month = attempt.month
        ORDER BY attempt.queued_at, instance.id, attempt.try_number
        """,
    )


def missed_deadlines(connection: Connection) -> Sequence[Mapping[str, Any]]:
    """Return the deadlines that were missed, in the order of their time."""
    return rows(
        connection,
        """
        SELECT run.dag_id, run.run_id, run.run_after, coalesce(deadline.name, deadline.reference) AS name,
               deadline.due_at
        FROM deadline JOIN dag_run AS run ON run.id = deadline.dag_run_id
        WHERE deadline.missed_at IS NOT NULL ORDER BY deadline.due_at, run.dag_id, deadline.id
        """,
    )


def waiting_tasks(connection: Connection) -> Sequence[Mapping[str, Any]]:
    """Return, for each task with scheduled instances, their number and the oldest run that waits."""
    return rows(
        connection,
        """
        SELECT DISTINCT ON (run.dag_id, instance.task_id) run.dag_id, run.run_id, instance.task_id, instance.map_index,
               count(*) OVER (PARTITION BY run.dag_id, instance.task_id) AS number
        FROM task_instance AS instance JOIN dag_run AS run ON run.id = instance.dag_run_id
        WHERE instance.state = 'scheduled' ORDER BY run.dag_id, instance.task_id, run.run_after, instance.id
        """,
    )


def succeeded_runs(connection: Connection, wanted: Sequence[tuple[str, datetime]]) -> set[tuple[str, datetime]]:
    """Return those of the runs (DAG, logical date) that have succeeded."""
    found = tuples(
        connection,
        """
        SELECT run.dag_id, run.logical_date
        FROM unnest(%(dag_ids)s::text[], %(dates)s::timestamptz[]) AS wanted (dag_id, logical_date)
        JOIN dag_run AS run USING (dag_id, logical_date)
        WHERE run.state = 'success'
        """,
        {"dag_ids": [one[0] for one in wanted], "dates": [one[1] for one in wanted]},
    )
    return {(row[0], row[1]) for row in found}
