"""Keeps the triggers that DAG files have watch their assets: one for each thing that a team's DAGs have polled.

Called by the DAG processor's ``catalog.storing``, in the transaction that stores the DAGs' versions. Arguments of
watchers stand in the DAG files, and are stored as they are there: marked as plain, where those of tasks are encrypted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.connection import notify
from treadle_metadata.statements import execute
from treadle_metadata.transitions.deferred import TRIGGERS

Json = Any

PLAIN: Final = "plain:"
"""Begin of stored arguments that are not encrypted; no encrypted text begins so."""

_OF_FILES: Final = "dag_file_"
"""Begin of the names of modules that are DAG files: their code is that of one version."""

# A watcher looks with its team's connections, so what several teams have watched is polled for each of them.
_KEY: Final[LiteralString] = "new.shared_key || coalesce('/' || dag.team, '')"

# One that was to be cancelled and is watched again goes on; one in which loops died may try anew.
_WATCH: Final[LiteralString] = f"""
    WITH wanted AS (
        SELECT DISTINCT ON (own_key) new.*, {_KEY} AS own_key
        FROM jsonb_to_recordset(%(rows)s::jsonb)
            AS new (dag_id text, asset text, watcher text, classpath text, kwargs text, weight int, version_id bigint,
                    shared_key text)
            JOIN dag ON dag.dag_id = new.dag_id
        ORDER BY own_key
    )
    INSERT INTO trigger (classpath, kwargs, weight, version_id, shared_key, created_at)
    SELECT classpath, kwargs, weight, version_id, own_key, %(now)s FROM wanted
    ON CONFLICT (shared_key) WHERE shared_key IS NOT NULL
    DO UPDATE SET cancelled_at = NULL, cancelled_for = NULL, suspicion = 0, death = NULL
"""

_LINK: Final[LiteralString] = f"""
    WITH wanted AS (
        SELECT trigger.id AS trigger_id, asset.id AS asset_id, new.dag_id, new.watcher
        FROM jsonb_to_recordset(%(rows)s::jsonb) AS new (dag_id text, asset text, watcher text, shared_key text)
        JOIN dag ON dag.dag_id = new.dag_id
        JOIN trigger ON trigger.shared_key = {_KEY}
        JOIN asset ON asset.name = new.asset
    ), dropped AS (
        DELETE FROM trigger_asset AS old
        WHERE old.dag_id = ANY(%(dag_ids)s) AND NOT EXISTS (
            SELECT FROM wanted WHERE (wanted.trigger_id, wanted.asset_id, wanted.dag_id, wanted.watcher)
                                   = (old.trigger_id, old.asset_id, old.dag_id, old.watcher))
    )
    INSERT INTO trigger_asset (trigger_id, asset_id, dag_id, watcher)
    SELECT DISTINCT trigger_id, asset_id, dag_id, watcher FROM wanted
    ON CONFLICT DO NOTHING
"""

# The poll of a team that a DAG belongs to no more is another's: what it has watched is polled for its team from now on,
# with that one's connections, whatever file or class it is of.
_MOVED: Final[LiteralString] = """
    SELECT old.id AS old_id, old.classpath, old.kwargs, old.weight, old.version_id, watched.asset_id, watched.dag_id,
           watched.watcher, left(old.shared_key, 64) || coalesce('/' || dag.team, '') AS own_key
    FROM trigger_asset AS watched JOIN trigger AS old ON old.id = watched.trigger_id
         JOIN dag ON dag.dag_id = watched.dag_id
    WHERE old.shared_key <> left(old.shared_key, 64) || coalesce('/' || dag.team, '')
"""

_PART: Final[LiteralString] = f"""
    INSERT INTO trigger (classpath, kwargs, weight, version_id, shared_key, created_at)
    SELECT DISTINCT ON (own_key) classpath, kwargs, weight, version_id, own_key, %(now)s FROM ({_MOVED}) AS moved
    ORDER BY own_key, old_id
    ON CONFLICT (shared_key) WHERE shared_key IS NOT NULL DO UPDATE SET cancelled_at = NULL, cancelled_for = NULL
"""

_LINK_MOVED: Final[LiteralString] = f"""
    WITH moved AS ({_MOVED}), dropped AS (
        DELETE FROM trigger_asset AS old USING moved
        WHERE (old.trigger_id, old.asset_id, old.dag_id, old.watcher)
            = (moved.old_id, moved.asset_id, moved.dag_id, moved.watcher)
    )
    INSERT INTO trigger_asset (trigger_id, asset_id, dag_id, watcher)
    SELECT own.id, moved.asset_id, moved.dag_id, moved.watcher
    FROM moved JOIN trigger AS own ON own.shared_key = moved.own_key
    ON CONFLICT DO NOTHING
"""

_UNWATCH: Final = """
    UPDATE trigger SET cancelled_at = %(now)s, cancelled_for = 'unwatched'
    WHERE shared_key IS NOT NULL AND cancelled_at IS NULL
      AND NOT EXISTS (SELECT FROM trigger_asset WHERE trigger_asset.trigger_id = trigger.id)
"""


def store_watchers(
    connection: Connection,
    documents: Mapping[str, Json],
    versions: Mapping[str, int],
    *,
    gone: Collection[str] = (),
    now: datetime,
) -> None:
    """Have watched what these DAGs' documents (by DAG id, as plain JSON) say, and no more what DAGs said that are gone.

    ``versions`` are the ids of the documents' versions.
    """
    dag_ids = [*documents, *gone]
    if not dag_ids:
        return
    rows = [row for dag_id, document in documents.items() for row in _rows(dag_id, document, versions.get(dag_id))]
    parameters = {"rows": json.dumps(rows), "dag_ids": dag_ids, "now": now}
    if rows:
        execute(connection, _WATCH, parameters)
    execute(connection, _LINK, parameters)
    unwatched = execute(connection, _UNWATCH, parameters)
    if rows or unwatched:
        notify(connection, TRIGGERS)


def part_by_team(connection: Connection, *, now: datetime) -> None:
    """Have each team's DAGs watched for that team alone, after DAGs have come to belong to other teams."""
    if execute(connection, _PART, {"now": now}):
        execute(connection, _LINK_MOVED)
        execute(connection, _UNWATCH, {"now": now})
        notify(connection, TRIGGERS)


def _rows(dag_id: str, document: Json, version_id: int | None) -> Iterator[dict[str, Any]]:
    for asset in document.get("assets", ()):
        for one in asset.get("watchers", ()):
            of_file = one["classpath"].startswith(_OF_FILES)
            key = hashlib.sha256(json.dumps([one["key"], version_id if of_file else None]).encode()).hexdigest()
            yield {
                "dag_id": dag_id,
                "asset": asset["name"],
                "watcher": one["name"],
                "classpath": one["classpath"],
                "kwargs": PLAIN + one["kwargs"],
                "weight": one.get("weight", 1),
                "version_id": version_id,
                "shared_key": key,
            }
