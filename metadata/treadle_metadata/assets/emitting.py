"""Stores events of assets, and puts each before every DAG that is scheduled by it.

Called in the transaction that finishes a task (``treadle_metadata.execution``), and by routes and commands for events
from outside. It only inserts: producers of one asset never wait for one another, and what rolls back has told nobody.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle.assets import LONGEST_NAME, LONGEST_PARTITION_KEY, is_partition_key, is_storable
from treadle_metadata.connection import RUNS, WAKE, notify
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.statements import execute, rows, tuples

# Names in order: two transactions that make the same assets wait for each other, and never in a circle.
_NEW_ASSETS: Final = """
    INSERT INTO asset (name, uri, group_name, extra, created_at, updated_at)
    SELECT DISTINCT ON (new.name) new.name, coalesce(new.uri, new.name), coalesce(new.group_name, 'asset'),
           coalesce(new.asset_extra, '{}'), %(now)s, %(now)s
    FROM jsonb_to_recordset(%(rows)s::jsonb) AS new (name text, uri text, group_name text, asset_extra jsonb)
    WHERE new.name IS NOT NULL AND NOT EXISTS (SELECT FROM asset WHERE asset.name = new.name)
    ORDER BY new.name
    ON CONFLICT (name) DO NOTHING
"""

# An event that is told by an address alone is one of each asset of that address; where there is none, one is made.
_NEW_ADDRESSES: Final = """
    INSERT INTO asset (name, uri, created_at, updated_at)
    SELECT DISTINCT ON (new.uri) new.uri, new.uri, %(now)s, %(now)s
    FROM jsonb_to_recordset(%(rows)s::jsonb) AS new (name text, uri text)
    WHERE new.name IS NULL AND NOT EXISTS (SELECT FROM asset WHERE asset.uri = new.uri)
    ORDER BY new.uri
    ON CONFLICT (name) DO NOTHING
"""

# The ids are drawn first, since an INSERT cannot return columns that it does not store. A consumer that waits for an
# event by two parts of its condition (the asset and an alias) gets a row for each. DAGs that are gone gather nothing.
_EVENTS: Final = """
    WITH told AS MATERIALIZED (
        SELECT nextval(pg_get_serial_sequence('asset_event', 'id')) AS id, asset.id AS asset_id, asset.name, asset.uri,
               new.extra, new.partition_key, new.aliases, new.dag_id, new.task_id, new.run_id, new.map_index
        FROM jsonb_to_recordset(%(rows)s::jsonb)
             AS new (name text, uri text, extra jsonb, partition_key text, aliases text[], dag_id text, task_id text,
                     run_id text, map_index int)
        JOIN asset ON asset.name = new.name OR (new.name IS NULL AND asset.uri = new.uri)
    ), stored AS (
        INSERT INTO asset_event (id, asset_id, extra, partition_key, source_dag_id, source_task_id, source_run_id,
                                 source_map_index, happened_at)
        SELECT id, asset_id, extra, partition_key, dag_id, task_id, run_id, map_index, %(now)s FROM told
    ), aliased AS (
        INSERT INTO asset_alias_event (alias_name, event_id)
        SELECT DISTINCT alias, told.id FROM told CROSS JOIN unnest(told.aliases) AS alias
    ), queued AS (
        INSERT INTO asset_run_queue (dag_id, kind, name, event_id)
        SELECT reference.dag_id, reference.kind, reference.name, told.id
        FROM told CROSS JOIN LATERAL (
            SELECT 'asset' AS kind, told.name UNION ALL SELECT 'uri', told.uri
            UNION ALL SELECT 'alias', unnest(told.aliases)) AS part
        JOIN asset_reference AS reference
             ON reference.kind = part.kind AND reference.name = part.name AND reference.role = 'schedule'
        JOIN dag ON dag.dag_id = reference.dag_id AND dag.is_active
        RETURNING dag_id
    )
    SELECT told.id, EXISTS (SELECT FROM queued) FROM told ORDER BY told.id
"""

_SOURCES: Final = """
    SELECT instance.id, instance.dag_id, instance.task_id, instance.map_index, run.run_id
    FROM task_instance AS instance JOIN dag_run AS run ON run.id = instance.dag_run_id
    WHERE instance.month = %(month)s AND instance.id = ANY(%(ids)s) ORDER BY instance.id
"""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """One update of an asset, named by ``name``, or by ``uri`` alone; who tells of it, if it is a task or a DAG."""

    name: str | None
    uri: str | None = None
    group: str | None = None
    asset_extra: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    partition_key: str | None = None
    dag_id: str | None = None
    task_id: str | None = None
    run_id: str | None = None
    map_index: int | None = None


def emit(connection: Connection, events: Sequence[NewEvent], *, now: datetime) -> list[int]:
    """Store events and return their ids; wake the schedulers if a DAG waits for one of them.

    Raises:
        InvalidRequestError: a name, a key or an extra cannot be stored.
    """
    if not events:
        return []
    parameters = {"rows": json.dumps([_row(one) for one in events]), "now": now}
    execute(connection, _NEW_ASSETS, parameters)
    if any(one.name is None for one in events):
        execute(connection, _NEW_ADDRESSES, parameters)
    stored = tuples(connection, _EVENTS, parameters)
    if stored and stored[0][1]:
        notify(connection, WAKE, RUNS)
    return [row[0] for row in stored]


def reported(connection: Connection, reports: Sequence[Mapping[str, Any]], *, month: date) -> list[NewEvent]:
    """Return the events that finish reports tell of (``treadle_worker.protocol.EmittedAssetEvent``), with sources."""
    telling = {report["task_instance_id"]: report for report in reports if report.get("asset_events")}
    if not telling:
        return []
    found = rows(connection, _SOURCES, {"ids": list(telling), "month": month})
    return [_event(one, source) for source in found for one in telling[source["id"]]["asset_events"]]


def is_usable(told: Mapping[str, Any]) -> bool:
    """Tell whether an event as a report tells of it can be stored."""
    try:
        _row(_event(told, dict.fromkeys(("dag_id", "task_id", "run_id", "map_index"))))
    except (InvalidRequestError, TypeError):
        return False
    return True


def _event(one: Mapping[str, Any], source: Mapping[str, Any]) -> NewEvent:
    return NewEvent(
        name=one.get("name"),
        uri=one.get("uri"),
        group=one.get("group"),
        asset_extra=one.get("asset_extra"),
        extra=one.get("extra") or {},
        aliases=tuple(one.get("aliases") or ()),
        partition_key=one.get("partition_key"),
        dag_id=source["dag_id"],
        task_id=source["task_id"],
        run_id=source["run_id"],
        map_index=source["map_index"],
    )


def _row(event: NewEvent) -> dict[str, Any]:
    if event.name is None and event.uri is None:
        raise InvalidRequestError("an asset event needs the asset's name or its uri")
    for what, text in (("name", event.name), ("uri", event.uri), *(("alias", one) for one in event.aliases)):
        if text is not None and not _is_name(text):
            raise _unusable(what, LONGEST_NAME)
    if event.partition_key is not None and not is_partition_key(event.partition_key):
        raise _unusable("partition key", LONGEST_PARTITION_KEY)
    for extra in (event.extra, event.asset_extra or {}):
        if not isinstance(extra, Mapping) or not is_storable(extra):
            raise InvalidRequestError(
                "the extra of an asset event must be a JSON object of texts without NUL characters"
            )
    return {
        "name": event.name,
        "uri": event.uri,
        "group_name": event.group,
        "asset_extra": event.asset_extra,
        "extra": event.extra,
        "aliases": list(dict.fromkeys(event.aliases)),
        "partition_key": event.partition_key,
        "dag_id": event.dag_id,
        "task_id": event.task_id,
        "run_id": event.run_id,
        "map_index": event.map_index,
    }


def _is_name(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text) <= LONGEST_NAME and is_storable(text)


def _unusable(what: str, most: int) -> InvalidRequestError:
    return InvalidRequestError(f"an asset event's {what} must be a text of 1 to {most} characters without NUL")
