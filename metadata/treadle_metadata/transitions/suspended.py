"""Instances that a durable step, a sensor or a question to people suspended: when they go on.

Whoever posts a token locks the instance before the step, as a finish does, so that a post between an attempt's last
look and its end is not missed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.statements import execute, tuples

_WAKE_POSTED: Final = """
    UPDATE task_instance AS instance SET next_retry_at = %(now)s
    FROM unnest(%(ids)s::bigint[], %(names)s::text[], %(inputs)s::text[]) AS waits (id, name, inputs)
         JOIN durable_journal AS journal ON journal.task_instance_id = waits.id AND journal.month = %(month)s
              AND journal.discarded_at IS NULL
         JOIN durable_step AS step ON step.task_instance_id = waits.id AND step.month = %(month)s
              AND step.journal_id = journal.id AND step.name = waits.name AND step.inputs = waits.inputs
              AND step.done_at IS NOT NULL
    WHERE instance.id = waits.id AND instance.month = %(month)s AND instance.state = 'up_for_reschedule'
    RETURNING instance.id
"""

_WAKE: Final = """
    UPDATE task_instance SET next_retry_at = %(now)s
    WHERE id = %(id)s AND month = %(month)s AND state = 'up_for_reschedule' AND next_retry_at > %(now)s
    RETURNING dag_run_id
"""

_WAKE_ANSWERED: Final = """
    UPDATE task_instance AS instance SET next_retry_at = %(now)s
    FROM human_step AS step
    WHERE instance.id = ANY(%(ids)s) AND instance.month = %(month)s AND instance.state = 'up_for_reschedule'
      AND step.task_instance_id = instance.id AND step.month = instance.month
      AND step.withdrawn_at IS NULL AND step.answered_at IS NOT NULL
    RETURNING instance.id
"""

_WITHDRAW_QUESTIONS: Final = """
    UPDATE human_step SET withdrawn_at = %(now)s
    WHERE month = %(month)s AND task_instance_id = ANY(%(ids)s) AND withdrawn_at IS NULL
      AND (answered_at IS NULL OR %(answered_too)s)
"""


def wake_posted(
    connection: Connection, reports: Sequence[Mapping[str, Any]], *, month: date, now: datetime
) -> set[int]:
    """Let those of just suspended instances go on whose step is done by now; return their ids."""
    parameters = {
        "ids": [one["task_instance_id"] for one in reports],
        "names": [one["resume"]["name"] for one in reports],
        "inputs": [one["resume"]["inputs"] for one in reports],
        "month": month,
        "now": now,
    }
    return {row[0] for row in tuples(connection, _WAKE_POSTED, parameters)}


def wake(connection: Connection, instance_id: int, *, month: date, now: datetime) -> int | None:
    """Let a suspended instance go on now; return its run, None if it does not wait."""
    found = tuples(connection, _WAKE, {"id": instance_id, "month": month, "now": now})
    return found[0][0] if found else None


def wake_answered(connection: Connection, ids: Sequence[int], *, month: date, now: datetime) -> set[int]:
    """Let those of just suspended instances go on whose question is answered by now; return their ids."""
    parameters = {"ids": list(ids), "month": month, "now": now}
    return {row[0] for row in tuples(connection, _WAKE_ANSWERED, parameters)}


def withdraw_questions(
    connection: Connection, ids: Sequence[int], *, answered_too: bool = False, month: date, now: datetime
) -> None:
    """Close the open questions of instances that were given another state, of cleared ones the answered ones too."""
    if ids:
        parameters = {"ids": list(ids), "answered_too": answered_too, "month": month, "now": now}
        execute(connection, _WITHDRAW_QUESTIONS, parameters)
