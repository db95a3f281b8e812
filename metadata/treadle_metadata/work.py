"""The queue of the transactional executor: attempts that wait in the database for a worker.

Schedulers put them in and renew their leases; workers take them with ``claims.claim_work``, which deletes the row. What
is taken by a worker that dies before it starts is taken back by its lease, like any other queued attempt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.connection import notify
from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.statements import execute, tuples

WORK: Final = "treadle_work"
"""Channel that tells workers that there is work; with the id of an attempt as payload, that it must end."""

CALLBACKS: Final = "callbacks"
"""Payload of WORK when callbacks are among the work, which need no slot."""

# The commit does not wait for the disk. What a crash of the server takes back of the queue is missed by its attempts'
# leases, which are renewed for what stands in the queue, and queued anew, not charged (decision 33).
_PUT: Final = """
    WITH put AS (
        INSERT INTO work_item (attempt_id, task_instance_id, month, queue, is_callback, workload)
        SELECT * FROM unnest(%(attempt_ids)s::uuid[], %(ids)s::bigint[], %(months)s::date[], %(queues)s::text[],
                             %(callbacks)s::boolean[], %(workloads)s::text[])
        ON CONFLICT (attempt_id) DO NOTHING
    )
    SELECT set_config('synchronous_commit', 'off', true), pg_notify(%(channel)s, %(payload)s)
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An attempt, or a callback, that no worker has taken."""

    ref: AttemptRef
    queue: str
    is_callback: bool


def put(connection: Connection, workloads: Sequence[Mapping[str, Any]]) -> None:
    """Put attempts into the queue, in their order, and tell the workers; one that is there already stays."""
    columns = {
        "attempt_ids": [one["attempt_id"] for one in workloads],
        "ids": [one["task_instance_id"] for one in workloads],
        "months": [one["month"] for one in workloads],
        "queues": [one["queue"] for one in workloads],
        "callbacks": ["callback" in one for one in workloads],
        "workloads": [json.dumps(one) for one in workloads],
    }
    told = {"channel": WORK, "payload": CALLBACKS if any(columns["callbacks"]) else ""}
    execute(connection, _PUT, columns | told)


def waiting(connection: Connection) -> list[Waiting]:
    """Return all that waits, whoever queued it."""
    found = tuples(connection, "SELECT attempt_id, task_instance_id, month, queue, is_callback FROM work_item")
    return [Waiting(AttemptRef(row[0], row[1], row[2]), row[3], row[4]) for row in found]


def take_out(connection: Connection, attempt_ids: Sequence[UUID]) -> set[UUID]:
    """Take attempts out of the queue; return those that were still there: no worker will have them."""
    if not attempt_ids:
        return set()
    sql = "DELETE FROM work_item WHERE attempt_id = ANY(%(ids)s) RETURNING attempt_id"
    return {row[0] for row in tuples(connection, sql, {"ids": list(attempt_ids)})}


def waits(connection: Connection, attempt_ids: Sequence[UUID]) -> set[UUID]:
    """Return those of the attempts that wait in the queue."""
    sql = "SELECT attempt_id FROM work_item WHERE attempt_id = ANY(%(ids)s)"
    return {row[0] for row in tuples(connection, sql, {"ids": list(attempt_ids)})}


def order_end(connection: Connection, attempt_id: UUID, why: str) -> None:
    """Tell whichever worker runs the attempt to end it, and ``why``; its next heartbeat would end it in any case.

    ``endings.read_order`` reads it.
    """
    notify(connection, WORK, f"{attempt_id} {why}")
