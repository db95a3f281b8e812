"""What deferred tasks wait for, and which triggerers look: read for pages and for "why is it not running?"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.deciding.why_triggers import WaitFacts
from treadle_metadata.queries.tries import in_its_try
from treadle_metadata.statements import rows, tuples
from treadle_metadata.states import TaskState

_WAIT: Final = """
    SELECT trigger.classpath, trigger.created_at, deferral.due_at, process.hostname, process.pid, triggerer.trouble,
           EXISTS (SELECT FROM trigger AS other
                   LEFT JOIN task_instance AS its ON its.id = other.task_instance_id AND its.month = other.month
                   LEFT JOIN trigger_asset AS watched ON watched.trigger_id = other.id
                   JOIN dag ON dag.dag_id = coalesce(its.dag_id, watched.dag_id)
                   WHERE other.id = triggerer.trouble_of) AS sees_trouble,
           EXISTS (SELECT FROM process AS other
                   WHERE other.kind = 'triggerer' AND other.stopped_at IS NULL AND other.lease_until > %(now)s) AS lives
    FROM deferral JOIN trigger ON trigger.id = deferral.trigger_id
         LEFT JOIN process ON process.id = trigger.owner AND process.stopped_at IS NULL
                          AND process.lease_until > %(now)s
         LEFT JOIN triggerer ON triggerer.process_id = process.id
    WHERE deferral.task_instance_id = %(id)s
"""


# For an account with rights for some DAGs only, ``task_instance`` and ``dag`` are views of what it may read
# (``rights.scoped_views``), so what is said of a trigger's class and file is said to those who may know of it.
_SOMEBODYS: Final = "a trigger that you may not read, or that is gone, holds it up"


def wait_of(connection: Connection, instance_id: int, *, now: datetime) -> WaitFacts | None:
    """Return what a deferred instance waits for; None if its event has just come."""
    found = rows(connection, _WAIT, {"id": instance_id, "now": now})
    if not found:
        return None
    row = found[0]
    return WaitFacts(
        classpath=row["classpath"],
        since=row["created_at"],
        due_at=row["due_at"],
        place=None if row["hostname"] is None else f"{row['hostname']} (pid {row['pid']})",
        trouble=row["trouble"] if row["sees_trouble"] or not row["trouble"] else _SOMEBODYS,
        is_anybody_there=row["lives"],
    )


_FAILING: Final = """
    SELECT DISTINCT asset.name, watched.watcher, trigger.trouble
    FROM asset_reference AS reference
         JOIN asset ON (reference.kind, reference.name) IN (('asset', asset.name), ('uri', asset.uri))
         JOIN trigger_asset AS watched ON watched.asset_id = asset.id
         JOIN dag ON dag.dag_id = watched.dag_id
         JOIN trigger ON trigger.id = watched.trigger_id
    WHERE reference.dag_id = %(dag_id)s AND trigger.trouble IS NOT NULL AND trigger.cancelled_at IS NULL
    ORDER BY asset.name, watched.watcher
"""


def failing_watchers_of(connection: Connection, dag_id: str) -> list[tuple[str, str, str]]:
    """Return the watchers that fail of assets that a DAG names: (asset, watcher, why)."""
    return [(row[0], row[1], row[2]) for row in tuples(connection, _FAILING, {"dag_id": dag_id})]


# An owner holds its lease, or loses what it owns: one that has not stopped runs.
_OF_DEFERRED: Final = """
    SELECT deferral.task_instance_id, trigger.id AS trigger_id, trigger.classpath, trigger.created_at, process.id,
           process.kind, process.started_at, process.stopped_at, process.heartbeat_at, process.executors,
           process.hostname, CASE WHEN process.stopped_at IS NULL THEN 'running' ELSE 'success' END AS state
    FROM deferral JOIN trigger ON trigger.id = deferral.trigger_id LEFT JOIN process ON process.id = trigger.owner
    WHERE deferral.task_instance_id = ANY(%(ids)s) AND deferral.fired_at IS NULL
"""


def with_triggers(connection: Connection, found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return instances (``tries.WITH_TRY``) for people to read: each in its try, with what it waits for.

    ``waits_for`` of one that is deferred is its trigger, with the triggerer that runs it.
    """
    ids = [row["id"] for row in found if row["state"] == TaskState.DEFERRED]
    waits = rows(connection, _OF_DEFERRED, {"ids": ids}) if ids else ()
    of = {one["task_instance_id"]: one for one in waits}
    return [{**in_its_try(row), "waits_for": of.get(row["id"])} for row in found]
