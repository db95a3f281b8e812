"""What people do with assets: tell of an update, have it made afresh, let waiting events be forgotten.

Called by routes and commands, which open the transaction and record who it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.assets.emitting import NewEvent, emit
from treadle_metadata.errors import ConflictError, NotFoundError, shown
from treadle_metadata.runs import trigger_run
from treadle_metadata.statements import execute, rows

_FORGET: Final = """
    DELETE FROM asset_run_queue AS queued USING asset_event AS event
    WHERE event.id = queued.event_id AND queued.dag_id = ANY(%(dag_ids)s)
      AND (%(asset_id)s::bigint IS NULL OR event.asset_id = %(asset_id)s)
      AND (%(before)s::timestamptz IS NULL OR event.happened_at < %(before)s)
"""

# The DAG's row is what a scheduler holds while it decides; waiting for it, nothing is taken away from under a decision.
_LOCK: Final = """
    SELECT dag_id FROM dag
    WHERE dag_id IN (
        SELECT queued.dag_id FROM asset_run_queue AS queued JOIN asset_event AS event ON event.id = queued.event_id
        WHERE (%(dag_id)s::text IS NULL OR queued.dag_id = %(dag_id)s)
          AND (%(asset_id)s::bigint IS NULL OR event.asset_id = %(asset_id)s))
    ORDER BY dag_id FOR NO KEY UPDATE
"""


def emit_by_hand(
    connection: Connection,
    name: str,
    *,
    extra: Mapping[str, Any] | None = None,
    partition_key: str | None = None,
    now: datetime,
) -> int:
    """Tell of an update of the asset ``name`` and return the event's id.

    Raises:
        NotFoundError: there is no such asset.
        InvalidRequestError: the extra or the key cannot be stored.
    """
    if not rows(connection, "SELECT FROM asset WHERE name = %(name)s", {"name": name}):
        known = [row["name"] for row in rows(connection, "SELECT name FROM asset ORDER BY id DESC LIMIT 2000")]
        raise NotFoundError("asset", name, known)
    (event_id,) = emit(connection, [NewEvent(name, extra=extra or {}, partition_key=partition_key)], now=now)
    return event_id


def materialize(connection: Connection, asset: Mapping[str, Any], **arguments: Any) -> Mapping[str, Any]:
    """Make a run of the DAG whose task updates this asset (a row of ``queries.assets``); return the run's row.

    Raises:
        NotFoundError: no DAG has a task that updates it.
        ConflictError: several do; the message names them.
    """
    producing = sorted({one["dag_id"] for one in asset["producing_tasks"]})
    if not producing:
        raise NotFoundError("DAG with a task that updates asset", asset["name"])
    if len(producing) > 1:
        raise ConflictError(
            f"asset {shown(asset['name'])} is updated by {len(producing)} DAGs, {', '.join(producing[:5])}: "
            "trigger the one that is meant"
        )
    return trigger_run(connection, producing[0], run_type="asset_materialization", **arguments)


def forget_queued(
    connection: Connection, *, dag_id: str | None = None, asset_id: int | None = None, before: datetime | None = None
) -> int:
    """Forget events that wait for a consumer, or of an asset for all of its consumers; return how many rows went."""
    locked = [row["dag_id"] for row in rows(connection, _LOCK, {"dag_id": dag_id, "asset_id": asset_id})]
    return execute(connection, _FORGET, {"dag_ids": locked, "asset_id": asset_id, "before": before})
