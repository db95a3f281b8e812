"""The move of task instances from scheduled to queued, each with a fresh attempt: what the scheduler picked to run.

Called by the duty that hands slots out. An instance that was moved on meanwhile, by a person or by another scheduler,
is left as it is and gets no attempt; the attempt's row is made in the same statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from operator import attrgetter
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.statements import tuples

# The state is compared so that no index of scheduled instances fits: with old statistics the planner takes it for
# empty, and walks all of it for each instance that is picked.
_QUEUE: Final = """
    WITH queued AS (
        UPDATE task_instance AS instance
        SET state = 'queued', attempt_id = picked.attempt_id, try_number = instance.try_number + 1,
            queued_at = %(now)s, started_at = NULL, ended_at = NULL, lease_until = %(lease_until)s, waiting_for = NULL
        FROM unnest(%(ids)s::bigint[], %(attempt_ids)s::uuid[]) AS picked (id, attempt_id)
        WHERE instance.id = picked.id AND instance.month = %(month)s AND instance.state || '' = 'scheduled'
        RETURNING instance.id
    )
    INSERT INTO task_attempt (attempt_id, month, task_instance_id, try_number, version_id, executor,
                              retry_delay_seconds, queued_at, log_path, code_hash)
    SELECT picked.attempt_id, %(month)s, picked.id, picked.try_number, picked.version_id, picked.executor,
           picked.retry_delay, %(now)s, picked.log_path, picked.code_hash
    FROM queued JOIN unnest(%(attempt_ids)s::uuid[], %(ids)s::bigint[], %(try_numbers)s::int[],
                            %(version_ids)s::bigint[], %(executors)s::text[], %(retry_delays)s::float8[],
                            %(log_paths)s::text[], %(code_hashes)s::text[])
         AS picked (attempt_id, id, try_number, version_id, executor, retry_delay, log_path, code_hash) USING (id)
    RETURNING task_instance_id
"""


@dataclass(frozen=True, slots=True)
class Picked:
    """An instance that the scheduler picked to be queued, with what its attempt needs to be recorded."""

    id: int
    attempt_id: UUID
    try_number: int
    version_id: int
    executor: str
    retry_delay_seconds: float
    log_path: str
    code_hash: str | None = None
    """The text of the DAG file that it is to run."""


def queue(
    connection: Connection, picked: Sequence[Picked], *, month: date, now: datetime, lease_until: datetime
) -> set[int]:
    """Move picked instances from scheduled to queued with a fresh attempt each; return the ids that moved."""
    picked = sorted(picked, key=attrgetter("id"))  # the lock order
    parameters = {
        "ids": [one.id for one in picked],
        "attempt_ids": [one.attempt_id for one in picked],
        "try_numbers": [one.try_number for one in picked],
        "version_ids": [one.version_id for one in picked],
        "executors": [one.executor for one in picked],
        "retry_delays": [one.retry_delay_seconds for one in picked],
        "log_paths": [one.log_path for one in picked],
        "code_hashes": [one.code_hash for one in picked],
        "month": month,
        "now": now,
        "lease_until": lease_until,
    }
    return {row[0] for row in tuples(connection, _QUEUE, parameters)}
