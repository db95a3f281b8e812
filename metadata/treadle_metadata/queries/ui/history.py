"""A DAG over time: outcomes by day, and how long its tasks and runs took; each one statement over its newest runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.statements import rows, tuples

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

# Run by run, by the index of its partition: never a whole partition, however the planner counts.
_INSTANCES: Final[LiteralString] = """
    unnest(%(ids)s::bigint[], %(months)s::date[]) AS run (id, month) CROSS JOIN LATERAL (
        SELECT task_id, state, queued_at, started_at, ended_at, try_number FROM task_instance
        WHERE dag_run_id = run.id AND month = run.month AND month = ANY(%(distinct_months)s)
          AND (%(task_id)s::text IS NULL OR task_id = %(task_id)s)
          AND started_at IS NOT NULL AND ended_at IS NOT NULL OFFSET 0
    ) AS instance
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
    FROM {_INSTANCES} GROUP BY instance.task_id
"""

_POINTS: Final[LiteralString] = f"""
    SELECT run.id, count(*) AS instances, max(instance.try_number) AS tries,
           bool_or(instance.state = 'failed') AS failed,
           percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (
               ORDER BY extract(epoch FROM instance.ended_at - instance.started_at)::float8) AS seconds,
           percentile_cont(0.5) WITHIN GROUP (
               ORDER BY extract(epoch FROM instance.started_at - instance.queued_at)::float8) AS queued_seconds
    FROM {_INSTANCES} GROUP BY run.id
"""


_EXPECTED: Final[LiteralString] = """
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) FROM (
        SELECT extract(epoch FROM ended_at - started_at)::float8 AS seconds FROM dag_run
        WHERE dag_id = %(dag_id)s AND state = 'success' AND run_after <= %(before)s
        ORDER BY run_after DESC, id DESC LIMIT 20) AS took
"""


def expected_seconds(connection: Connection, dag_id: str, *, before: datetime) -> float | None:
    """Return how long a run takes: the median of the newest 20 that succeeded, until ``before``; None if none has."""
    found = tuples(connection, _EXPECTED, {"dag_id": dag_id, "before": before})
    return None if found[0][0] is None else float(found[0][0])


def days(
    connection: Connection, dag_id: str, *, since: datetime, until: datetime, zone: str
) -> Sequence[Mapping[str, Any]]:
    """Return, by day of ``zone`` and state, the number of runs and their mean duration in seconds."""
    return rows(connection, _DAYS, {"dag_id": dag_id, "since": since, "until": until, "zone": zone})


def newest_runs(connection: Connection, dag_id: str, runs: int) -> Sequence[Mapping[str, Any]]:
    """Return the newest runs of a DAG, the newest first."""
    return rows(connection, _NEWEST, {"dag_id": dag_id, "runs": runs})


def task_durations(connection: Connection, runs: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return, by task, how long its instances of ``runs`` (``newest_runs``) took: median, 95th percentile, longest."""
    return rows(connection, _TASKS, _named(runs, None))


def task_points(connection: Connection, runs: Sequence[Mapping[str, Any]], task_id: str) -> list[Mapping[str, Any]]:
    """Return how long one task took in each of ``runs`` (``newest_runs``) that has it, the oldest first."""
    found = {row["id"]: row for row in rows(connection, _POINTS, _named(runs, task_id))}
    return [{**found[run["id"]], **run} for run in reversed(runs) if run["id"] in found]


def _named(runs: Sequence[Mapping[str, Any]], task_id: str | None) -> dict[str, Any]:
    months = [run["month"] for run in runs]
    ids = [run["id"] for run in runs]
    return {"ids": ids, "months": months, "distinct_months": sorted(set(months)), "task_id": task_id}
