"""Keeps what DAG documents say of assets: the assets themselves, and which schedule or task names which.

Called by the DAG processor's ``catalog.storing``, in the transaction that stores the DAGs' versions: from the commit
on, a new consumer gathers events. At most five statements, whatever the number of DAGs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle.asset_conditions import parts_of
from treadle.document import AssetCondition
from treadle_metadata.statements import execute

Json = Any

# Only what is new or changed is written; where two files define one asset differently, the one read last counts.
_ASSETS: Final = """
    INSERT INTO asset (name, uri, group_name, extra, created_at, updated_at)
    SELECT new.name, new.uri, new.group_name, new.extra, %(now)s, %(now)s
    FROM jsonb_to_recordset(%(rows)s::jsonb) AS new (name text, uri text, group_name text, extra jsonb)
    ORDER BY new.name
    ON CONFLICT (name) DO UPDATE
    SET uri = excluded.uri, group_name = excluded.group_name, extra = excluded.extra, updated_at = excluded.updated_at
    WHERE (asset.uri, asset.group_name, asset.extra)
          IS DISTINCT FROM (excluded.uri, excluded.group_name, excluded.extra)
"""

_ALIASES: Final = """
    INSERT INTO asset_alias (name, group_name, created_at)
    SELECT new.name, new.group_name, %(now)s
    FROM jsonb_to_recordset(%(rows)s::jsonb) AS new (name text, group_name text)
    ORDER BY new.name
    ON CONFLICT (name) DO UPDATE SET group_name = excluded.group_name
    WHERE asset_alias.group_name <> excluded.group_name
"""

_REFERENCES: Final = """
    WITH named AS (
        SELECT * FROM jsonb_to_recordset(%(rows)s::jsonb)
            AS new (dag_id text, role text, task_id text, kind text, name text)
    ), dropped AS (
        DELETE FROM asset_reference AS old
        WHERE old.dag_id = ANY(%(dag_ids)s) AND NOT EXISTS (
            SELECT FROM named WHERE (named.dag_id, named.role, named.task_id, named.kind, named.name)
                                  = (old.dag_id, old.role, old.task_id, old.kind, old.name))
    )
    INSERT INTO asset_reference (dag_id, role, task_id, kind, name, created_at)
    SELECT dag_id, role, task_id, kind, name, %(now)s FROM named
    ON CONFLICT DO NOTHING
"""

# What gathered for a part that the schedule no longer has would make no run any more.
_FORGET: Final = """
    DELETE FROM asset_run_queue AS queued
    WHERE queued.dag_id = ANY(%(dag_ids)s) AND NOT EXISTS (
        SELECT FROM asset_reference AS reference
        WHERE (reference.dag_id, reference.kind, reference.name) = (queued.dag_id, queued.kind, queued.name)
          AND reference.role = 'schedule')
"""

# What has gathered is looked at under the schedule that there is now: its condition may be met, its keys be others.
_GATHER_ANEW: Final = """
    WITH seen AS (
        UPDATE asset_run_queue SET is_new = true
        WHERE dag_id = ANY(%(dag_ids)s) AND target_key = '' AND NOT is_new
    ), keyed AS (
        DELETE FROM asset_run_queue WHERE dag_id = ANY(%(dag_ids)s) AND target_key <> ''
        RETURNING dag_id, kind, name, event_id
    )
    INSERT INTO asset_run_queue (dag_id, kind, name, event_id)
    SELECT DISTINCT dag_id, kind, name, event_id FROM keyed
    ON CONFLICT DO NOTHING
"""


def store_references(connection: Connection, documents: Mapping[str, Json], *, now: datetime) -> None:
    """Store what these DAGs' documents (by DAG id, as plain JSON) say of assets, in place of what they said before."""
    if not documents:
        return
    _store(connection, _ASSETS, documents, "assets", now)
    _store(connection, _ALIASES, documents, "asset_aliases", now)
    named = [row for dag_id, document in documents.items() for row in _references(dag_id, document)]
    parameters = {"rows": json.dumps(named), "dag_ids": list(documents), "now": now}
    execute(connection, _REFERENCES, parameters)
    execute(connection, _FORGET, {"dag_ids": list(documents)})
    execute(connection, _GATHER_ANEW, {"dag_ids": list(documents)})


def _store(connection: Connection, statement: str, documents: Mapping[str, Json], field: str, now: datetime) -> None:
    found = {one["name"]: one for document in documents.values() for one in document.get(field, ())}
    if found:
        rows = [
            {
                "name": name,
                "uri": one.get("uri", name),
                "group_name": one.get("group", "asset"),
                "extra": one.get("extra", {}),
            }
            for name, one in found.items()
        ]
        execute(connection, statement, {"rows": json.dumps(rows), "now": now})


def _references(dag_id: str, document: Json) -> Iterator[dict[str, str]]:
    condition = document.get("schedule", {}).get("condition")
    for kind, name in dict.fromkeys(parts_of(_read(condition))) if condition else ():
        yield {"dag_id": dag_id, "role": "schedule", "task_id": "", "kind": kind, "name": name}
    for task in document.get("tasks", ()):
        for role, field in (("inlet", "inlets"), ("outlet", "outlets")):
            for kind, name in task.get(field, ()):
                yield {"dag_id": dag_id, "role": role, "task_id": task["task_id"], "kind": kind, "name": name}


def _read(condition: Json) -> AssetCondition:
    inner: Sequence[Json] = condition.get("inner", ())
    return AssetCondition(condition["kind"], condition.get("name", ""), tuple(map(_read, inner)))
