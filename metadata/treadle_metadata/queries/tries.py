"""Which try an instance is in, for people: one rule for lists, pages, logs and commands.

``task_instance.try_number`` counts a try from its hand-over on and is counted back when the same try is to be handed
over again: after a deferral, between two pokes in mode ``reschedule``, while a durable step sleeps, and when a worker
that stops hands its work back. For whoever reads, such a try goes on: its attempts and its log bear its number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, LiteralString

# A try goes on if it has an attempt already. Only what started once and holds no attempt now is looked up: neither the
# thousands that have never started nor those that wait for a retry.
CURRENT_TRY: Final[LiteralString] = """(instance.try_number + (
    instance.state = 'up_for_reschedule' OR (instance.state = 'scheduled' AND (instance.resumes OR (
        instance.started_at IS NOT NULL AND instance.attempt_id IS NULL AND EXISTS (
            SELECT FROM task_attempt AS begun
            WHERE begun.task_instance_id = instance.id AND begun.month = instance.month
              AND begun.try_number > instance.try_number))))
)::int)"""
"""The number of the try that a row of ``task_instance AS instance`` is in or was in last; 0 before the first."""

WITH_TRY: Final[LiteralString] = f"instance.*, {CURRENT_TRY} AS current_try"
"""The columns of an instance, for ``in_its_try``."""


def in_its_try(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of ``WITH_TRY`` with the try that it is in as its ``try_number``.

    ``goes_on`` tells whether that try has begun and is to be handed over again.
    """
    return {**row, "try_number": row["current_try"], "goes_on": row["current_try"] != row["try_number"]}
