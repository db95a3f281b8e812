"""A DAG over time: outcomes by day, and how long its tasks and runs took; each one statement over its newest runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.statements import rows

_DAYS: Final[LiteralString] = """
    SELECT (run_after AT TIME ZONE %(zone)s)::date AS day, state, count(*) AS number,
           avg(extract(epoch FROM ended_at - started_at))::float8 AS seconds
    FROM dag_run WHERE dag_id = %(dag_id)s AND run_after >= %(since)s AND run_after < %(until)s
    GROUP BY 1, 2 ORDER BY 1, 2
"""

_NEWEST: Final[LiteralString] = """
    SELECT id, run_id, month, state, run_type, run_after, queued_at, started_at, ended_at
    FROM dag_run WHERE dag_id = %(dag_id)s ORDER BY run_after DESC, id DESC LIMIT %(runs)s
"""

_TASKS: Final[LiteralString] = f"""
    SELECT instance.task_id, count(*) AS instances,
           count(*) FILTER (WHERE instance.state = 'failed') AS failed,
           percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (
               ORDER BY extract(epoch FROM instance.ended_at - instance.started_at)::float8)
               FILTER (WHERE instance.state = 'success') AS seconds,
           max(extract(epoch FROM instance.ended_at - instance.started_at)::float8)
               FILTER (WHERE instance.state = 'success') AS longest,
           percentile_cont(0.5) WITHIN GROUP (
               ORDER BY extract(epoch FROM instance.started_at - instance.queued_at)::float8) AS queued_seconds,
           max(instance.try_number) AS tries
    FROM ({_NEWEST}) AS run
    JOIN task_instance AS instance ON instance.dag_run_id = run.id AND instance.month = run.month
    WHERE instance.started_at IS NOT NULL AND instance.ended_at IS NOT NULL
    GROUP BY instance.task_id
"""

_POINTS: Final[LiteralString] = f"""
    SELECT run.run_id, run.run_after, count(*) AS instances, max(instance.try_number) AS tries,
           bool_or(instance.state = 'failed') AS failed,
           percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (
               ORDER BY extract(epoch FROM instance.ended_at - instance.started_at)::float8) AS seconds,
           percentile_cont(0.5) WITHIN GROUP (
               ORDER BY extract(epoch FROM instance.started_at - instance.queued_at)::float8) AS queued_seconds
    FROM ({_NEWEST}) AS run
    JOIN task_instance AS instance ON instance.dag_run_id = run.id AND instance.month = run.month
    WHERE instance.task_id = %(task_id)s AND instance.started_at IS NOT NULL AND instance.ended_at IS NOT NULL
    GROUP BY run.id, run.run_id, run.run_after ORDER BY run.run_after, run.id
"""


def days(
    connection: Connection, dag_id: str, *, since: datetime, until: datetime, zone: str
) -> Sequence[Mapping[str, Any]]:
    """Return, by day of ``zone`` and state, the number of runs and their mean duration in seconds."""
    return rows(connection, _DAYS, {"dag_id": dag_id, "since": since, "until": until, "zone": zone})


def newest_runs(connection: Connection, dag_id: str, runs: int) -> Sequence[Mapping[str, Any]]:
    """Return the newest runs of a DAG, the newest first."""
    return rows(connection, _NEWEST, {"dag_id": dag_id, "runs": runs})


def task_durations(connection: Connection, dag_id: str, runs: int) -> Sequence[Mapping[str, Any]]:
    """Return, by task, how long its instances of the newest ``runs`` runs took: median, 95th percentile, longest."""
    return rows(connection, _TASKS, {"dag_id": dag_id, "runs": runs})


def task_points(connection: Connection, dag_id: str, task_id: str, runs: int) -> Sequence[Mapping[str, Any]]:
    """Return how long one task took in each of the newest ``runs`` runs, the oldest first."""
    return rows(connection, _POINTS, {"dag_id": dag_id, "task_id": task_id, "runs": runs})
