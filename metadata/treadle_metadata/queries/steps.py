"""Durable steps as people see them: which task instances have a journal, and what stands in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection

from treadle.durable.keys import idempotency_key
from treadle_metadata.statements import rows

_JOURNALS: Final = """
    SELECT run.dag_id, run.run_id, instance.task_id, instance.map_index, instance.state, journal.opened_at,
           journal.plan, journal.refused_plan,
           count(step.number) AS steps, count(step.number) FILTER (WHERE step.done_at IS NULL) AS waiting,
           min(step.due_at) FILTER (WHERE step.done_at IS NULL) AS due_at
    FROM dag_run AS run
         JOIN task_instance AS instance ON instance.dag_run_id = run.id AND instance.month = run.month
         JOIN durable_journal AS journal ON journal.task_instance_id = instance.id AND journal.month = run.month
              AND journal.discarded_at IS NULL
         LEFT JOIN durable_step AS step ON step.task_instance_id = instance.id AND step.month = run.month
              AND step.journal_id = journal.id
    WHERE run.id = %(run)s AND run.month = %(month)s
    GROUP BY run.dag_id, run.run_id, instance.task_id, instance.map_index, instance.state, journal.id,
             journal.opened_at, journal.plan, journal.refused_plan
    ORDER BY instance.task_id, instance.map_index
"""

_STEPS: Final = """
    SELECT step.number, step.name, step.inputs, step.kind, step.begun_at, step.done_at, step.due_at, step.blob,
           journal.id AS journal_id, coalesce(step.value, blob.content) AS value,
           CASE WHEN step.kind = 'awakeable' AND step.done_at IS NOT NULL AND step.value IS NULL THEN 'timed_out'
                WHEN step.done_at IS NULL THEN 'waiting' ELSE 'done' END AS state
    FROM durable_journal AS journal
         JOIN durable_step AS step ON step.task_instance_id = journal.task_instance_id AND step.month = journal.month
              AND step.journal_id = journal.id
         LEFT JOIN durable_blob AS blob ON blob.task_instance_id = step.task_instance_id AND blob.month = step.month
              AND blob.hash = step.blob
    WHERE journal.task_instance_id = %(id)s AND journal.month = %(month)s AND journal.discarded_at IS NULL
    ORDER BY step.number
"""

_FAILURES: Final = """
    SELECT failure.name, failure.inputs, failure.try, failure.error_type, failure.message, failure.wait_seconds,
           failure.failed_at, attempt.try_number, journal.id AS journal_id
    FROM durable_journal AS journal
         JOIN durable_failure AS failure ON failure.task_instance_id = journal.task_instance_id
              AND failure.month = journal.month AND failure.journal_id = journal.id
         LEFT JOIN task_attempt AS attempt ON attempt.attempt_id = failure.attempt_id AND attempt.month = failure.month
    WHERE journal.task_instance_id = %(id)s AND journal.month = %(month)s AND journal.discarded_at IS NULL
    ORDER BY failure.number DESC LIMIT %(most)s
"""

MOST_FAILURES: Final = 1000


def journals_of_run(connection: Connection, run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the task instances of a run that have an open journal, with how many steps it has and which wait."""
    return [dict(row) for row in rows(connection, _JOURNALS, {"run": run["id"], "month": run["month"]})]


def steps_of(connection: Connection, instance: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the steps in an instance's open journal, in the order in which they were recorded."""
    found = rows(connection, _STEPS, {"id": instance["id"], "month": instance["month"]})
    return [
        dict(row) | {"idempotency_key": idempotency_key(str(row["journal_id"]), row["name"], row["inputs"])}
        for row in found
    ]


def failures_of(connection: Connection, instance: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the newest failed tries of steps of an instance's open journal, in the order in which they failed."""
    of = {"id": instance["id"], "month": instance["month"], "most": MOST_FAILURES}
    return [
        dict(row) | {"idempotency_key": idempotency_key(str(row["journal_id"]), row["name"], row["inputs"])}
        for row in reversed(rows(connection, _FAILURES, of))
    ]
