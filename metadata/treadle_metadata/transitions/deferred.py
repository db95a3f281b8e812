"""Moves of deferred instances: they wait for a trigger, go on with what it brought, or with the end of their time.

Every move names the attempt that waits: a trigger of attempt n never reaches attempt n + 1. An event and the move that
it makes are one transaction, so it counts once, and none is lost with a process. Whoever takes an instance away from
its trigger leaves that one to be cancelled by its triggerer; what merely stops running it does not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.connection import RUNS, WAKE, notify
from treadle_metadata.statements import execute, rows, tuples

TRIGGERS: Final = "treadle_triggers"
"""Channel that tells web servers that triggerers have something to take or to cancel."""

LONGEST_WAIT: Final = 100 * 366 * 86400.0
"""Seconds; a longer limit is none."""

# A wait that follows another within one try keeps the beginning of the first: execution timeouts span them (case D1).
_BEGIN: Final = """
    WITH waits AS (
        SELECT report.*, instance.attempt_id, attempt.version_id,
               coalesce(earlier.first_started_at, attempt.started_at, report.ended_at) AS began
        FROM unnest(%(ids)s::bigint[], %(classpaths)s::text[], %(kwargs)s::text[], %(weights)s::int[],
                    %(methods)s::text[], %(next_kwargs)s::text[], %(timeouts)s::float8[], %(limits)s::float8[],
                    %(in_worker)s::bool[], %(ended)s::timestamptz[])
             AS report (id, classpath, kwargs, weight, next_method, next_kwargs, timeout, execution_limit,
                        ends_in_worker, ended_at)
             JOIN task_instance AS instance ON instance.id = report.id AND instance.month = %(month)s
             JOIN task_attempt AS attempt ON attempt.attempt_id = instance.attempt_id AND attempt.month = %(month)s
             LEFT JOIN deferral AS earlier ON earlier.task_instance_id = instance.id AND instance.resumes
    ), made AS (
        INSERT INTO trigger (classpath, kwargs, weight, version_id, task_instance_id, month, attempt_id, created_at)
        SELECT classpath, kwargs, weight, version_id, id, %(month)s, attempt_id, %(now)s FROM waits ORDER BY id
        RETURNING id, task_instance_id
    ), limits AS (
        SELECT waits.*, made.id AS trigger_id,
               ended_at + make_interval(secs => timeout) AS timeout_at,
               began + make_interval(secs => execution_limit) AS limit_at
        FROM waits JOIN made ON made.task_instance_id = waits.id
    ), going_on AS (
        UPDATE task_instance AS instance SET resumes = false
        FROM waits WHERE instance.id = waits.id AND instance.month = %(month)s AND instance.resumes
    )
    INSERT INTO deferral AS kept (task_instance_id, month, trigger_id, next_method, next_kwargs, first_started_at,
                                  due_at, due_kind, limit_seconds, ends_in_worker)
    SELECT id, %(month)s, trigger_id, next_method, next_kwargs, began, least(timeout_at, limit_at),
           CASE WHEN limit_at IS NULL OR timeout_at <= limit_at THEN 'timeout' ELSE 'execution_timeout' END,
           CASE WHEN limit_at IS NULL OR timeout_at <= limit_at THEN timeout ELSE execution_limit END, ends_in_worker
    FROM limits
    ON CONFLICT (task_instance_id) DO UPDATE
    SET month = excluded.month, trigger_id = excluded.trigger_id, next_method = excluded.next_method,
        next_kwargs = excluded.next_kwargs, first_started_at = excluded.first_started_at, due_at = excluded.due_at,
        due_kind = excluded.due_kind, limit_seconds = excluded.limit_seconds,
        ends_in_worker = excluded.ends_in_worker, fired_at = NULL, event = NULL, error = NULL
    RETURNING kept.due_at
"""

# The next hand-over is the same try again, which counts on by one.
_GO_ON: Final = """
    WITH gone_on AS (
        UPDATE task_instance AS instance
        SET state = 'scheduled', resumes = true, try_number = instance.try_number - 1, scheduled_at = %(now)s,
            started_at = NULL, ended_at = NULL
        FROM unnest(%(ids)s::bigint[], %(attempt_ids)s::uuid[]) AS fired (id, attempt_id)
        WHERE instance.id = fired.id AND instance.month = %(month)s AND instance.attempt_id = fired.attempt_id
          AND instance.state = 'deferred'
        RETURNING instance.id, instance.dag_run_id
    ), noted AS (
        UPDATE deferral SET fired_at = %(now)s, event = fired.event, error = fired.error
        FROM unnest(%(ids)s::bigint[], %(events)s::text[], %(errors)s::jsonb[]) AS fired (id, event, error)
             JOIN gone_on USING (id)
        WHERE deferral.task_instance_id = fired.id
    )
    SELECT id, dag_run_id FROM gone_on
"""

# The attempt that deferred is the one that ends: no worker had a hand in it since.
_END: Final = """
    WITH ended AS (
        UPDATE task_instance AS instance
        SET state = CASE WHEN report.outcome <> 'failed' THEN report.outcome
                         WHEN instance.try_number <= instance.max_tries THEN 'up_for_retry' ELSE 'failed' END,
            next_retry_at = CASE WHEN report.outcome = 'failed' AND instance.try_number <= instance.max_tries
                                 THEN %(now)s + make_interval(secs => attempt.retry_delay_seconds) END,
            ended_at = %(now)s, started_at = coalesce(waits.first_started_at, instance.started_at)
        FROM unnest(%(ids)s::bigint[], %(attempt_ids)s::uuid[], %(outcomes)s::text[])
             AS report (id, attempt_id, outcome)
             JOIN task_attempt AS attempt ON attempt.attempt_id = report.attempt_id AND attempt.month = %(month)s
             JOIN deferral AS waits ON waits.task_instance_id = report.id
        WHERE instance.id = report.id AND instance.month = %(month)s AND instance.attempt_id = report.attempt_id
          AND instance.state = 'deferred'
        RETURNING instance.attempt_id, instance.id, instance.dag_run_id, instance.state, instance.next_retry_at
    ), closed AS (
        UPDATE task_attempt AS attempt SET outcome = report.outcome, ended_at = %(now)s, error = report.error
        FROM unnest(%(attempt_ids)s::uuid[], %(outcomes)s::text[], %(errors)s::jsonb[])
             AS report (attempt_id, outcome, error)
             JOIN ended USING (attempt_id)
        WHERE attempt.attempt_id = report.attempt_id AND attempt.month = %(month)s
    ), forgotten AS (
        DELETE FROM deferral USING ended WHERE deferral.task_instance_id = ended.id
    )
    SELECT * FROM ended
"""

_OVER: Final = """
    WITH over AS (
        UPDATE task_instance SET resumes = false
        WHERE month = %(month)s AND id = ANY(%(ids)s) AND resumes
        RETURNING id
    )
    DELETE FROM deferral USING over WHERE deferral.task_instance_id = over.id
"""

_CANCEL: Final = """
    UPDATE trigger SET cancelled_at = %(now)s, cancelled_for = %(reason)s
    WHERE task_instance_id = ANY(%(ids)s) AND cancelled_at IS NULL
"""

_FORGET: Final = """
    WITH forgotten AS (
        DELETE FROM deferral WHERE task_instance_id = ANY(%(ids)s) RETURNING task_instance_id
    )
    UPDATE task_instance SET resumes = false
    WHERE month = %(month)s AND id = ANY(%(ids)s) AND resumes
"""


def begin(connection: Connection, reports: Sequence[Mapping[str, Any]], *, month: date, now: datetime) -> None:
    """Store what just deferred instances wait for; ``reports`` are FinishReports whose deferrals are sealed."""
    if not reports:
        return
    waits = [report["deferral"] for report in reports]
    due = tuples(
        connection,
        _BEGIN,
        {
            "ids": [report["task_instance_id"] for report in reports],
            "ended": [report["ended_at"] for report in reports],
            "classpaths": [one["classpath"] for one in waits],
            "kwargs": [one["kwargs"] for one in waits],
            "weights": [one.get("weight") or 1 for one in waits],
            "methods": [one["next_method"] for one in waits],
            "next_kwargs": [one["next_kwargs"] for one in waits],
            "timeouts": [_limit(one.get("timeout_seconds")) for one in waits],
            "limits": [_limit(one.get("execution_timeout_seconds")) for one in waits],
            "in_worker": [bool(one.get("ends_in_worker")) for one in waits],
            "month": month,
            "now": now,
        },
    )
    notify(connection, TRIGGERS)
    if any(row[0] is not None for row in due):
        notify(connection, WAKE, RUNS)  # one of the schedulers will look when the first limit is over


def _limit(seconds: float | None) -> float | None:
    return None if seconds is None or seconds >= LONGEST_WAIT else max(0.0, float(seconds))


def go_on(
    connection: Connection, fired: Sequence[Mapping[str, Any]], *, month: date, now: datetime
) -> Sequence[tuple[int, int]]:
    """Schedule instances whose wait is over; return (instance, run) of those that still waited.

    Each has ``task_instance_id``, ``attempt_id``, and a sealed ``event`` or an ``error``.
    """
    fired = sorted(fired, key=lambda one: one["task_instance_id"])  # the lock order
    errors = [one.get("error") for one in fired]
    return tuples(
        connection,
        _GO_ON,
        {
            "ids": [one["task_instance_id"] for one in fired],
            "attempt_ids": [one["attempt_id"] for one in fired],
            "events": [one.get("event") for one in fired],
            "errors": [json.dumps(one) if one else None for one in errors],
            "month": month,
            "now": now,
        },
    )


def end(
    connection: Connection, ended: Sequence[Mapping[str, Any]], *, month: date, now: datetime
) -> Sequence[Mapping[str, Any]]:
    """End deferred instances as their triggers say: ``outcome`` and, of a failure, ``error``. Returns their rows."""
    ended = sorted(ended, key=lambda one: one["task_instance_id"])
    return rows(
        connection,
        _END,
        {
            "ids": [one["task_instance_id"] for one in ended],
            "attempt_ids": [one["attempt_id"] for one in ended],
            "outcomes": [one["outcome"] for one in ended],
            "errors": [json.dumps(one["error"]) if one.get("error") else None for one in ended],
            "month": month,
            "now": now,
        },
    )


def over(connection: Connection, ids: Sequence[int], *, month: date) -> None:
    """Forget the waits of instances whose try is over, if they had gone on from one."""
    if ids:
        execute(connection, _OVER, {"ids": list(ids), "month": month})


def cancel(connection: Connection, ids: Sequence[int], reason: str, *, now: datetime) -> None:
    """Have the triggers of instances cancelled: nobody waits for them any more."""
    if ids and execute(connection, _CANCEL, {"ids": list(ids), "reason": reason, "now": now}):
        notify(connection, TRIGGERS)


def take_away(connection: Connection, ids: Sequence[int], reason: str, *, month: date, now: datetime) -> None:
    """Forget the waits of instances that a person or the end of their run moved; their triggers are cancelled."""
    if ids:
        cancel(connection, ids, reason, now=now)
        execute(connection, _FORGET, {"ids": list(ids), "month": month})
