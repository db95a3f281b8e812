"""Callbacks that the server has run for users: what is handed over, and what becomes of the workers' reports.

The scheduler's duties and ``treadle_metadata.execution`` call this. A callback never changes the state of its run or
task: one that fails is in the audit log and in its own row. What a crash leaves queued is handed over again; what it
leaves running is failed, since users' code that may have run is not run twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata import audit, claims
from treadle_metadata.identifiers import new_attempt_id
from treadle_metadata.queries.versions import older_sources
from treadle_metadata.statements import rows
from treadle_metadata.transitions import callbacks

AT_ONCE: Final = 16
"""Callbacks under way at a time, in the whole installation: they come on top of the tasks' slots. Schedulers that hand
over at the same moment do not see each other's, and may each add as many."""

_FACTS: Final = """
    SELECT callback.id, callback.event, callback.position, callback.facts, callback.executor,
           callback.attempt_id, callback.log_path, callback.task_instance_id,
           run.dag_id, run.run_id, run.month, run.run_type, run.logical_date, run.interval_start, run.interval_end,
           run.run_after, run.started_at AS run_started_at, run.conf, run.triggered_by, run.clear_number,
           run.partition_key, run.partition_date,
           instance.task_id, instance.map_index, instance.try_number, instance.max_tries, instance.queue, instance.pool,
           dag.file, version.file_hash, version.hash AS version_hash, callback.version_id,
           callback.version_id <> dag.version_id AS is_older_version,
           coalesce((version.deadlines -> callback.position ->> 'is_async')::boolean, false) AS is_async
    FROM callback
    JOIN dag_run AS run ON run.id = callback.dag_run_id
    JOIN dag ON dag.dag_id = run.dag_id
    JOIN dag_version AS version ON version.id = callback.version_id
    LEFT JOIN task_instance AS instance ON instance.month = run.month AND instance.id = callback.task_instance_id
    WHERE callback.id = ANY(%(ids)s)
    ORDER BY callback.id
"""


def hand_over(connection: Connection, *, lease_until: datetime) -> Sequence[Mapping[str, Any]]:
    """Queue the callbacks that wait, as many as may be under way; return what their workloads are made of.

    ``source`` is the text of the callback's version if the DAG's file has another one by now (decision 22).
    """
    claimed = claims.claim_pending_callbacks(connection, most=AT_ONCE)
    if not claimed:
        return []
    ids = [one["id"] for one in claimed]
    paths = [f"{one['dag_id']}/{one['run_id']}/callbacks/{one['event']}.{one['id']}.jsonl" for one in claimed]
    callbacks.queue(connection, ids, [new_attempt_id() for _ in ids], paths, lease_until=lease_until)
    found = rows(connection, _FACTS, {"ids": ids})
    sources = older_sources(connection, {row["version_id"] for row in found if row["is_older_version"]})
    return [{**row, "source": sources.get(row["version_id"])} for row in found]


def finish(connection: Connection, reports: Sequence[Mapping[str, Any]], *, now: datetime) -> set[str]:
    """Record how callbacks ended; return the attempts whose report was accepted."""
    moved = callbacks.finish(connection, reports)
    for one in moved:
        if one["state"] == "failed":
            detail = {"callback_id": one["id"], "event": one["event"], "error": (one["error"] or {}).get("message")}
            audit.record(
                connection,
                actor="scheduler",
                event="callback_failed",
                now=now,
                dag_id=one["dag_id"],
                run_id=one["run_id"],
                detail=detail,
            )
    return {str(one["attempt_id"]) for one in moved}


def lose(connection: Connection, attempt_ids: Sequence[UUID], reason: str, *, now: datetime) -> None:
    """Hand over again the callbacks whose worker was lost before they started, and fail those that had started."""
    callbacks.take_back(connection, attempt_ids)
    reports = [
        {
            "attempt_id": one,
            "outcome": "failed",
            "ended_at": now,
            "error": {"kind": "lost", "type": "WorkerLost", "message": reason},
        }
        for one in attempt_ids
    ]
    finish(connection, reports, now=now)


def refuse(connection: Connection, attempt_ids: Sequence[UUID], reason: str, *, now: datetime) -> None:
    """Fail callbacks that nobody can run."""
    error = {"kind": "protocol", "type": "Rejected", "message": reason}
    reports = [{"attempt_id": one, "outcome": "failed", "ended_at": now, "error": error} for one in attempt_ids]
    finish(connection, reports, now=now)


def rescue(connection: Connection, reason: str, *, now: datetime) -> int:
    """Recover the callbacks whose lease has run out; return how many."""
    expired = claims.claim_expired_callbacks(connection, now=now)
    if expired:
        lose(connection, expired, reason, now=now)
    return len(expired)


def run_of(connection: Connection, attempt_id: object) -> Mapping[str, Any] | None:
    """Return the run that a running callback is about, if it may still ask."""
    found = rows(
        connection,
        """
        SELECT run.id, run.dag_id, run.run_id, run.month, run.logical_date, run.run_after, NULL AS task_id,
               coalesce(dag.team, '') AS team
        FROM callback JOIN dag_run AS run ON run.id = callback.dag_run_id JOIN dag ON dag.dag_id = run.dag_id
        WHERE callback.attempt_id = %(attempt_id)s AND callback.state = 'running'
        """,
        {"attempt_id": attempt_id},
    )
    return found[0] if found else None
