"""The partitions that consumers with keys gather: a row of the queue is put under its target key when it is first seen.

All rows of one consumer and key are one partition, by construction: there is no row for the partition itself that two
schedulers or two events could make twice (case A46). Called by ``create_asset_runs`` with the consumers locked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from treadle.document import AssetKey
from treadle_metadata.statements import execute, tuples

# Of each consumer its oldest, from the index: however many wait behind them costs nothing.
_OLDEST_NEW: Final = """
    SELECT queued.dag_id, queued.kind, queued.name, queued.event_id, event.partition_key
    FROM unnest(%(dag_ids)s::text[]) AS consumer (dag_id) CROSS JOIN LATERAL (
        SELECT * FROM asset_run_queue AS waiting
        WHERE waiting.dag_id = consumer.dag_id AND waiting.is_new AND waiting.target_key = ''
        ORDER BY waiting.event_id LIMIT %(most)s
    ) AS queued
    LEFT JOIN asset_event AS event ON event.id = queued.event_id
    ORDER BY queued.event_id, queued.dag_id, queued.kind, queued.name
"""

_REMOVE_NEW: Final = """
    DELETE FROM asset_run_queue AS queued
    USING unnest(%(dag_ids)s::text[], %(kinds)s::text[], %(names)s::text[], %(events)s::bigint[])
        AS seen (dag_id, kind, name, event_id)
    WHERE (queued.dag_id, queued.kind, queued.name, queued.event_id)
        = (seen.dag_id, seen.kind, seen.name, seen.event_id) AND queued.target_key = ''
"""

_PUT: Final = """
    INSERT INTO asset_run_queue (dag_id, kind, name, target_key, event_id, is_new)
    SELECT dag_id, kind, name, target_key, event_id, false
    FROM unnest(%(dag_ids)s::text[], %(kinds)s::text[], %(names)s::text[], %(keys)s::text[], %(events)s::bigint[])
        AS mapped (dag_id, kind, name, target_key, event_id)
    ON CONFLICT DO NOTHING
"""

_GATHERED: Final = """
    SELECT DISTINCT queued.dag_id, queued.target_key, queued.kind, queued.name, event.partition_key
    FROM unnest(%(dag_ids)s::text[], %(keys)s::text[]) AS changed (dag_id, target_key)
    JOIN asset_run_queue AS queued USING (dag_id, target_key)
    JOIN asset_event AS event ON event.id = queued.event_id
    WHERE queued.target_key <> ''
"""

Gathered = Mapping[AssetKey, frozenset[str]]
"""By part of the condition, the upstream keys that have gathered for one partition."""


@dataclass(frozen=True, slots=True)
class QueuedEvent:
    """An event that waits for a consumer, with the key that its source gave it."""

    dag_id: str
    part: AssetKey
    event_id: int
    key: str | None


def oldest_new(connection: Connection, dag_ids: Sequence[str], *, most: int) -> list[QueuedEvent]:
    """Return, of each of these consumers, up to ``most`` events that have no target key yet, the oldest first."""
    found = tuples(connection, _OLDEST_NEW, {"dag_ids": list(dag_ids), "most": most})
    return [QueuedEvent(row[0], (row[1], row[2]), row[3], row[4]) for row in found]


def remove_new(connection: Connection, events: Sequence[QueuedEvent]) -> None:
    """Take events that have no target key out of the queue: they have been looked at."""
    if events:
        parameters = {
            "dag_ids": [event.dag_id for event in events],
            "kinds": [event.part[0] for event in events],
            "names": [event.part[1] for event in events],
            "events": [event.event_id for event in events],
        }
        execute(connection, _REMOVE_NEW, parameters)


def put_under_keys(connection: Connection, mapped: Sequence[tuple[QueuedEvent, str]]) -> None:
    """Put events back, each under a target key of its consumer."""
    if mapped:
        execute(
            connection,
            _PUT,
            {
                "dag_ids": [event.dag_id for event, _ in mapped],
                "kinds": [event.part[0] for event, _ in mapped],
                "names": [event.part[1] for event, _ in mapped],
                "keys": [key for _, key in mapped],
                "events": [event.event_id for event, _ in mapped],
            },
        )


def gathered(connection: Connection, partitions: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Gathered]:
    """Return what has gathered for each of these (DAG id, target key)."""
    if not partitions:
        return {}
    parameters = {"dag_ids": [one[0] for one in partitions], "keys": [one[1] for one in partitions]}
    found: dict[tuple[str, str], dict[AssetKey, set[str]]] = {}
    for dag_id, target, kind, name, key in tuples(connection, _GATHERED, parameters):
        found.setdefault((dag_id, target), {}).setdefault((kind, name), set()).add(key)
    return {one: {part: frozenset(keys) for part, keys in parts.items()} for one, parts in found.items()}
