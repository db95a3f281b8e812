"""Assets across DAGs: who updates and who waits for which, what was told of them last, what consumers still lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.statements import rows

MOST_REFERENCES: Final = 5_000

_REFERENCES: Final[LiteralString] = """
    SELECT reference.dag_id, reference.role, reference.task_id, reference.kind, reference.name,
           asset.id AS asset_id, coalesce(asset.name, reference.name) AS asset_name, asset.uri, asset.group_name,
           dag.display_name, dag.is_paused
    FROM asset_reference AS reference
    JOIN dag ON dag.dag_id = reference.dag_id AND dag.is_active
    LEFT JOIN asset ON (reference.kind = 'asset' AND asset.name = reference.name)
                    OR (reference.kind = 'uri' AND asset.uri = reference.name)
    ORDER BY reference.dag_id, reference.role, reference.task_id, reference.kind, reference.name
    LIMIT %(most)s
"""

_LAST: Final[LiteralString] = """
    SELECT newest.* FROM unnest(%(ids)s::bigint[]) AS wanted (id) CROSS JOIN LATERAL (
        SELECT asset_id, id, happened_at, source_dag_id, source_run_id FROM asset_event
        WHERE asset_id = wanted.id ORDER BY id DESC LIMIT 1) AS newest
"""

# For each part of a consumer's condition, whether an event has gathered that no run has taken yet.
_WAITING: Final[LiteralString] = """
    SELECT reference.dag_id, reference.kind, reference.name, count(queued.event_id) AS gathered,
           max(event.happened_at) AS newest_at
    FROM asset_reference AS reference
    JOIN dag ON dag.dag_id = reference.dag_id AND dag.is_active
    LEFT JOIN asset_run_queue AS queued ON queued.dag_id = reference.dag_id AND queued.kind = reference.kind
                                       AND queued.name = reference.name
    LEFT JOIN asset_event AS event ON event.id = queued.event_id
    WHERE reference.role = 'schedule'
    GROUP BY reference.dag_id, reference.kind, reference.name
    ORDER BY reference.dag_id, reference.kind, reference.name
    LIMIT %(most)s
"""


def references(connection: Connection) -> Sequence[Mapping[str, Any]]:
    """Return what the DAGs name as schedule, inlet or outlet, with the asset that it is, where there is one."""
    return rows(connection, _REFERENCES, {"most": MOST_REFERENCES})


def last_events(connection: Connection, asset_ids: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    """Return the newest event of each of these assets that has one."""
    return {row["asset_id"]: row for row in rows(connection, _LAST, {"ids": list(asset_ids)})}


def waiting(connection: Connection) -> Sequence[Mapping[str, Any]]:
    """Return, for each part of a DAG's asset schedule, how many events have gathered for it since its last run."""
    return rows(connection, _WAITING, {"most": MOST_REFERENCES})
