"""Moves of callbacks: they come to be with their event, are handed over, start at most once, and end.

Every report names the attempt that it is of, a fresh one with each hand-over: what was handed over before and comes
late changes no row. A callback whose worker is lost before it started is handed over again, one that had started is
not: users' code that may have run is never run twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.connection import RUNS, WAKE, notify
from treadle_metadata.statements import execute, rows, tuples

# The attempt's mark is set and asked for in one statement: its own process may want to call at this moment (case A47).
# Which tasks want to be told stands in the version that the attempt ran with; each is taken apart once.
_TELL_OF_ATTEMPTS: Final = """
    WITH untold AS (
        UPDATE task_attempt SET called_back_at = %(now)s
        WHERE month = %(month)s AND attempt_id = ANY(%(attempt_ids)s) AND called_back_at IS NULL
        RETURNING attempt_id, task_instance_id, version_id, try_number, error
    ), wanting AS (
        SELECT version.id AS version_id, task ->> 'task_id' AS task_id, task -> 'callbacks' AS ends
        FROM dag_version AS version CROSS JOIN LATERAL jsonb_array_elements(version.document -> 'tasks') AS task
        WHERE version.id IN (SELECT version_id FROM untold) AND task ? 'callbacks'
    ), told AS (
        SELECT untold.*, instance.dag_run_id, instance.task_id, instance.state,
               CASE instance.state WHEN 'failed' THEN 'failure' ELSE 'retry' END AS ended
        FROM untold JOIN task_instance AS instance
             ON instance.month = %(month)s AND instance.id = untold.task_instance_id
            AND instance.attempt_id = untold.attempt_id
        WHERE instance.state IN ('failed', 'up_for_retry')
    )
    INSERT INTO callback (dag_run_id, event, version_id, task_instance_id, facts, created_at)
    SELECT told.dag_run_id, 'task_' || told.ended, told.version_id, told.task_instance_id,
           jsonb_build_object('state', told.state, 'try_number', told.try_number,
                              'error', coalesce(%(error)s::jsonb, told.error)), %(now)s
    FROM told JOIN wanting USING (version_id, task_id)
    WHERE wanting.ends ? told.ended
"""

_TAKE: Final = """
    UPDATE task_attempt AS attempt SET called_back_at = %(now)s
    FROM task_instance AS instance
    WHERE instance.month = %(month)s AND instance.id = %(id)s AND instance.attempt_id = %(attempt_id)s
      AND instance.state = 'running'
      AND attempt.month = %(month)s AND attempt.attempt_id = instance.attempt_id AND attempt.called_back_at IS NULL
"""

_MISS: Final = """
    WITH missed AS (
        UPDATE deadline SET missed_at = %(now)s WHERE id = ANY(%(ids)s)
        RETURNING id, dag_run_id, position, name, reference, base_at, due_at
    )
    INSERT INTO callback (dag_run_id, event, version_id, position, facts, executor, created_at)
    SELECT missed.dag_run_id, 'deadline', run.version_id, missed.position,
           jsonb_build_object(
               'state', run.state, 'ended_at', run.ended_at,
               'deadline', jsonb_build_object('id', missed.id, 'alert_name', missed.name,
                   'deadline_time', missed.due_at, 'base_time', missed.base_at, 'reference', missed.reference)),
           version.deadlines -> missed.position ->> 'executor', %(now)s
    FROM missed JOIN dag_run AS run ON run.id = missed.dag_run_id
                JOIN dag_version AS version ON version.id = run.version_id
"""

_QUEUE: Final = """
    UPDATE callback
    SET state = 'queued', attempt_id = picked.attempt_id, log_path = picked.log_path, lease_until = %(lease_until)s
    FROM unnest(%(ids)s::bigint[], %(attempt_ids)s::uuid[], %(log_paths)s::text[]) AS picked (id, attempt_id, log_path)
    WHERE callback.id = picked.id AND callback.state = 'pending'
"""

# The same report again starts nothing anew: its sender does not know that the first was recorded (case A77).
_START: Final = """
    UPDATE callback
    SET state = 'running', started_at = report.started_at, hostname = report.hostname, lease_until = %(lease_until)s
    FROM unnest(%(attempt_ids)s::uuid[], %(hostnames)s::text[], %(started)s::timestamptz[])
         AS report (attempt_id, hostname, started_at)
    WHERE callback.attempt_id = report.attempt_id
      AND (callback.state = 'queued' OR (callback.state = 'running' AND callback.hostname = report.hostname
                                         AND extract(epoch FROM callback.started_at - report.started_at) %% 1 = 0))
    RETURNING callback.attempt_id
"""

_FINISH: Final = """
    UPDATE callback
    SET state = CASE report.outcome WHEN 'success' THEN 'success' ELSE 'failed' END, ended_at = report.ended_at,
        error = report.error, lease_until = NULL
    FROM unnest(%(attempt_ids)s::uuid[], %(outcomes)s::text[], %(ended)s::timestamptz[], %(errors)s::jsonb[])
         AS report (attempt_id, outcome, ended_at, error), dag_run AS run
    WHERE callback.attempt_id = report.attempt_id AND callback.state IN ('queued', 'running')
      AND run.id = callback.dag_run_id
    RETURNING callback.id, callback.attempt_id, callback.event, callback.state, callback.error, run.dag_id, run.run_id
"""

_BEAT: Final = """
    UPDATE callback SET lease_until = %(lease_until)s
    WHERE attempt_id = ANY(%(attempt_ids)s) AND state IN ('queued', 'running')
    RETURNING attempt_id
"""

_KEEP_QUEUED: Final = """
    UPDATE callback SET lease_until = %(lease_until)s
    WHERE attempt_id = ANY(%(attempt_ids)s) AND state = 'queued'
    RETURNING attempt_id
"""

_TAKE_BACK: Final = """
    UPDATE callback SET state = 'pending', attempt_id = NULL, lease_until = NULL
    WHERE attempt_id = ANY(%(attempt_ids)s) AND state = 'queued'
    RETURNING id
"""


def tell_of_attempts(
    connection: Connection,
    attempt_ids: Sequence[UUID],
    *,
    month: date,
    now: datetime,
    error: Mapping[str, Any] | None = None,
) -> int:
    """Have the callbacks called of attempts that failed without having called them; return how many will be.

    ``error`` tells of attempts that the server ended itself; of others it stands with the attempt.
    """
    if not attempt_ids:
        return 0
    parameters = {"attempt_ids": list(attempt_ids), "month": month, "now": now, "error": error and json.dumps(error)}
    told = execute(connection, _TELL_OF_ATTEMPTS, parameters)
    if told:
        notify(connection, WAKE, RUNS)
    return told


def take_for_attempt(connection: Connection, request: Mapping[str, Any], *, now: datetime) -> bool:
    """Let an attempt's own process call its callbacks, if it is still running and nobody has taken them on."""
    parameters = {
        "id": request["task_instance_id"],
        "month": request["month"],
        "attempt_id": request["attempt_id"],
        "now": now,
    }
    return execute(connection, _TAKE, parameters) == 1


def miss_deadlines(connection: Connection, ids: Sequence[int], *, now: datetime) -> int:
    """Note that deadlines were missed, and have their callbacks called. The caller has claimed them (case A57)."""
    return execute(connection, _MISS, {"ids": list(ids), "now": now}) if ids else 0


def queue(
    connection: Connection,
    ids: Sequence[int],
    attempt_ids: Sequence[UUID],
    log_paths: Sequence[str],
    *,
    lease_until: datetime,
) -> None:
    """Move claimed callbacks to queued, each with a fresh attempt."""
    parameters = {"ids": list(ids), "attempt_ids": list(attempt_ids), "log_paths": list(log_paths)}
    execute(connection, _QUEUE, parameters | {"lease_until": lease_until})


def start(connection: Connection, reports: Sequence[Mapping[str, Any]], *, lease_until: datetime) -> set[UUID]:
    """Move queued callbacks to running; return the attempts that may run their code."""
    parameters = {
        "attempt_ids": [report["attempt_id"] for report in reports],
        "hostnames": [report["hostname"] for report in reports],
        "started": [report["started_at"] for report in reports],
        "lease_until": lease_until,
    }
    return {row[0] for row in tuples(connection, _START, parameters)}


def finish(connection: Connection, reports: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Move callbacks as their attempts ended, so that others may follow; return those that moved, with their run."""
    errors = [report.get("error") for report in reports]
    moved = rows(
        connection,
        _FINISH,
        {
            "attempt_ids": [report["attempt_id"] for report in reports],
            "outcomes": [report["outcome"] for report in reports],
            "ended": [report["ended_at"] for report in reports],
            "errors": [json.dumps(error) if error else None for error in errors],
        },
    )
    if moved:
        notify(connection, WAKE, RUNS)
    return moved


def beat(connection: Connection, attempt_ids: Sequence[Any], *, lease_until: datetime) -> set[UUID]:
    """Renew the leases of living callbacks; return the attempts that are still theirs."""
    return {row[0] for row in tuples(connection, _BEAT, {"attempt_ids": list(attempt_ids), "lease_until": lease_until})}


def keep_queued(connection: Connection, attempt_ids: Sequence[UUID], *, lease_until: datetime) -> set[UUID]:
    """Renew the leases of callbacks that wait for a worker; return those that no worker has started yet."""
    parameters = {"attempt_ids": list(attempt_ids), "lease_until": lease_until}
    return {row[0] for row in tuples(connection, _KEEP_QUEUED, parameters)}


def take_back(connection: Connection, attempt_ids: Sequence[UUID]) -> int:
    """Move queued callbacks that never started back to pending; return how many moved."""
    taken = len(tuples(connection, _TAKE_BACK, {"attempt_ids": list(attempt_ids)}))
    if taken:
        notify(connection, WAKE, RUNS)
    return taken
