"""What consumers have gathered: which parts of their conditions have an event, and taking events into a run.

Called by the scheduler's ``create_asset_runs`` with the consumers' rows of ``dag`` locked, so that no other scheduler
decides about the same ones. Each function is one statement, whatever the number of consumers and events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection

from treadle.document import AssetKey
from treadle_metadata.statements import execute, tuples

# Marked before it is looked at for the last time: what commits in between stays new, and is looked at again.
_SEEN: Final = "UPDATE asset_run_queue SET is_new = false WHERE dag_id = ANY(%(dag_ids)s) AND is_new"

# From the few parts of a condition to one event each, however many have gathered.
_UPDATED: Final = """
    SELECT reference.dag_id, reference.kind, reference.name FROM asset_reference AS reference
    WHERE reference.dag_id = ANY(%(dag_ids)s) AND reference.role = 'schedule' AND EXISTS (
        SELECT FROM asset_run_queue AS queued
        WHERE (queued.dag_id, queued.kind, queued.name) = (reference.dag_id, reference.kind, reference.name))
"""

_TAKE: Final = """
    WITH made AS (
        SELECT * FROM unnest(%(dag_ids)s::text[], %(keys)s::text[], %(run_ids)s::bigint[])
            AS made (dag_id, target_key, dag_run_id)
    ), taken AS (
        DELETE FROM asset_run_queue AS queued USING made
        WHERE queued.dag_id = made.dag_id AND queued.target_key = made.target_key
        RETURNING queued.dag_id, queued.target_key, queued.event_id, made.dag_run_id
    )
    INSERT INTO dag_run_asset_event (dag_id, event_id, partition_key, dag_run_id)
    SELECT DISTINCT dag_id, event_id, target_key, dag_run_id FROM taken
"""

_HOLD: Final = "UPDATE dag SET at_run_limit = true WHERE dag_id = ANY(%(dag_ids)s)"


def mark_seen(connection: Connection, dag_ids: Sequence[str]) -> None:
    """Note that a scheduler looks at all that these consumers have gathered: only a further event makes them due."""
    execute(connection, _SEEN, {"dag_ids": list(dag_ids)})


def updated_parts(connection: Connection, dag_ids: Sequence[str]) -> dict[str, set[AssetKey]]:
    """Return, for each consumer, the parts of its condition that have an event since its last run."""
    found: dict[str, set[AssetKey]] = {}
    for dag_id, kind, name in tuples(connection, _UPDATED, {"dag_ids": list(dag_ids)}):
        found.setdefault(dag_id, set()).add((kind, name))
    return found


def take_events(connection: Connection, made: Sequence[Mapping[str, Any]]) -> int:
    """Put all that gathered for these new runs' DAGs and partitions into the runs; return how many events."""
    return execute(
        connection,
        _TAKE,
        {
            "dag_ids": [run["dag_id"] for run in made],
            "keys": [run["partition_key"] or "" for run in made],
            "run_ids": [run["id"] for run in made],
        },
    )


def hold_at_limit(connection: Connection, dag_ids: Sequence[str]) -> None:
    """Let consumers that have all the runs they may have go on gathering until one of their runs ends (case A43)."""
    if dag_ids:
        execute(connection, _HOLD, {"dag_ids": list(dag_ids)})
