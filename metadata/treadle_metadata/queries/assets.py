"""Assets, aliases, their events, and what waits for consumers: what the REST API and ``treadle assets`` show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle.document import AssetKey
from treadle_metadata.assets.partitions import gathered
from treadle_metadata.deciding.why_assets import BegunPartitions
from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.conditions import ANYTIME, Between, Conditions
from treadle_metadata.queries.paging import Page, PageRequest, SortKey, fetch_page
from treadle_metadata.statements import rows, tuples

_ASSET_SORTS: Final = {
    "id": SortKey("asset.id", "bigint"),
    "name": SortKey("asset.name", "text"),
    "uri": SortKey("asset.uri", "text"),
    "created_at": SortKey("asset.created_at", "timestamptz"),
    "updated_at": SortKey("asset.updated_at", "timestamptz"),
}
_ALIAS_SORTS: Final = {"id": SortKey("asset_alias.id", "bigint"), "name": SortKey("asset_alias.name", "text")}
_EVENT_SORTS: Final = {
    "id": SortKey("event.id", "bigint"),
    # Their numbers grow with the time, and have the index.
    "timestamp": SortKey("event.id", "bigint"),
    "asset_id": SortKey("event.asset_id", "bigint"),
}

_EVENT: Final[LiteralString] = "event.*, asset.name, asset.uri, asset.group_name"
_EVENTS: Final[LiteralString] = "asset_event AS event JOIN asset ON asset.id = event.asset_id"

# An asset that nobody names was told of at run time; one that only lost DAGs name is left over.
_IS_ACTIVE: Final[LiteralString] = """
    (EXISTS (SELECT FROM asset_reference AS reference JOIN dag USING (dag_id) WHERE dag.is_active
             AND ((reference.kind, reference.name) IN (('asset', asset.name), ('uri', asset.uri))))
     OR NOT EXISTS (SELECT FROM asset_reference AS reference
                    WHERE (reference.kind, reference.name) IN (('asset', asset.name), ('uri', asset.uri))))
"""

_REFERENCES: Final = """
    SELECT asset.id AS asset_id, reference.dag_id, reference.role, reference.task_id, reference.created_at
    FROM asset JOIN asset_reference AS reference
         ON (reference.kind, reference.name) IN (('asset', asset.name), ('uri', asset.uri))
    JOIN dag ON dag.dag_id = reference.dag_id AND dag.is_active
    WHERE asset.id = ANY(%(ids)s) ORDER BY reference.dag_id, reference.task_id
"""

_LAST_EVENTS: Final = """
    SELECT newest.* FROM unnest(%(ids)s::bigint[]) AS wanted (id) CROSS JOIN LATERAL (
        SELECT asset_id, id, happened_at FROM asset_event WHERE asset_id = wanted.id ORDER BY id DESC LIMIT 1) AS newest
"""

_CREATED_RUNS: Final = """
    SELECT taken.event_id, run.*
    FROM dag_run_asset_event AS taken JOIN dag_run AS run ON run.id = taken.dag_run_id
    WHERE taken.event_id = ANY(%(ids)s) ORDER BY run.id
"""

_QUEUED: Final = """
    SELECT DISTINCT ON (queued.dag_id, event.asset_id) queued.dag_id, event.asset_id, event.happened_at,
           coalesce(dag.display_name, dag.dag_id) AS dag_display_name
    FROM asset_run_queue AS queued JOIN asset_event AS event ON event.id = queued.event_id
    JOIN dag ON dag.dag_id = queued.dag_id
    WHERE (%(dag_id)s::text IS NULL OR queued.dag_id = %(dag_id)s)
      AND (%(asset_id)s::bigint IS NULL OR event.asset_id = %(asset_id)s)
      AND (%(before)s::timestamptz IS NULL OR event.happened_at < %(before)s)
    ORDER BY queued.dag_id, event.asset_id, event.happened_at
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetFilter:
    """Which assets."""

    name_pattern: str | None = None
    name_prefix: str | None = None
    uri_pattern: str | None = None
    uri_prefix: str | None = None
    dag_ids: Sequence[str] = ()
    active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events."""

    asset_id: int | None = None
    source_dag_id: str | None = None
    source_task_id: str | None = None
    source_run_id: str | None = None
    source_map_index: int | None = None
    name_pattern: str | None = None
    name_prefix: str | None = None
    dag_run_id: int | None = None
    happened: Between = ANYTIME


def list_assets(connection: Connection, wanted: AssetFilter, page: PageRequest) -> Page:
    """Return a page of assets with ``scheduled_dags``, ``producing_tasks``, ``consuming_tasks`` and ``last_event``."""
    conditions = Conditions()
    conditions.pattern("asset.name", "name_pattern", wanted.name_pattern)
    conditions.prefix("asset.name", "name_prefix", wanted.name_prefix)
    conditions.pattern("asset.uri", "uri_pattern", wanted.uri_pattern)
    conditions.prefix("asset.uri", "uri_prefix", wanted.uri_prefix)
    if wanted.dag_ids:
        conditions.add(
            """EXISTS (SELECT FROM asset_reference AS reference WHERE reference.dag_id = ANY(%(dag_ids)s)
               AND (reference.kind, reference.name) IN (('asset', asset.name), ('uri', asset.uri)))""",
            dag_ids=list(wanted.dag_ids),
        )
    if wanted.active:
        conditions.add(_IS_ACTIVE)
    found = fetch_page(
        connection,
        select="asset.*",
        source="asset",
        conditions=conditions,
        sorts=_ASSET_SORTS,
        default=("name",),
        unique=("id",),
        request=page,
    )
    _add_uses(connection, found.rows)
    return found


def get_asset(connection: Connection, asset_id: int) -> dict[str, Any]:
    """Return one asset as :func:`list_assets` does, with ``aliases``: those through which it was ever updated.

    Raises:
        NotFoundError: there is no such asset.
    """
    return _one_asset(connection, rows(connection, "SELECT * FROM asset WHERE id = %(id)s", {"id": asset_id}), asset_id)


def find_asset(connection: Connection, name: str) -> dict[str, Any]:
    """Return one asset by its name or, if there is none of that name, by its uri.

    Raises:
        NotFoundError: there is no such asset; the message names the nearest one.
    """
    sql = "SELECT * FROM asset WHERE name = %(name)s OR uri = %(name)s ORDER BY name = %(name)s DESC, id LIMIT 1"
    return _one_asset(connection, rows(connection, sql, {"name": name}), name)


def _one_asset(connection: Connection, found: Sequence[Mapping[str, Any]], asked: object) -> dict[str, Any]:
    if not found:
        known = [row[0] for row in tuples(connection, "SELECT name FROM asset ORDER BY id DESC LIMIT 2000")]
        raise NotFoundError("asset", str(asked), known)
    one = dict(found[0])
    _add_uses(connection, [one])
    one["aliases"] = rows(
        connection,
        """
        SELECT id, name, group_name FROM asset_alias WHERE name IN (
            SELECT aliased.alias_name FROM asset_alias_event AS aliased
            JOIN asset_event AS event ON event.id = aliased.event_id WHERE event.asset_id = %(id)s)
        ORDER BY name
        """,
        {"id": one["id"]},
    )
    return one


def list_aliases(connection: Connection, page: PageRequest, *, pattern: str | None, prefix: str | None) -> Page:
    """Return a page of aliases."""
    conditions = Conditions()
    conditions.pattern("asset_alias.name", "pattern", pattern)
    conditions.prefix("asset_alias.name", "prefix", prefix)
    return fetch_page(
        connection,
        select="asset_alias.*",
        source="asset_alias",
        conditions=conditions,
        sorts=_ALIAS_SORTS,
        default=("name",),
        unique=("id",),
        request=page,
    )


def get_alias(connection: Connection, alias_id: int) -> Mapping[str, Any]:
    """Return one alias.

    Raises:
        NotFoundError: there is no such alias.
    """
    found = rows(connection, "SELECT * FROM asset_alias WHERE id = %(id)s", {"id": alias_id})
    if not found:
        raise NotFoundError("asset alias", str(alias_id))
    return found[0]


def list_events(connection: Connection, wanted: EventFilter, page: PageRequest) -> Page:
    """Return a page of events, by default the newest first, each with the runs that it made (``created_runs``)."""
    conditions = Conditions()
    conditions.equals("event.asset_id", "asset_id", wanted.asset_id)
    conditions.equals("event.source_dag_id", "source_dag_id", wanted.source_dag_id)
    conditions.equals("event.source_task_id", "source_task_id", wanted.source_task_id)
    conditions.equals("event.source_run_id", "source_run_id", wanted.source_run_id)
    conditions.equals("event.source_map_index", "source_map_index", wanted.source_map_index)
    conditions.pattern("asset.name", "name_pattern", wanted.name_pattern)
    conditions.prefix("asset.name", "name_prefix", wanted.name_prefix)
    conditions.between("event.happened_at", "happened", wanted.happened)
    if wanted.dag_run_id is not None:
        taken = "event.id IN (SELECT event_id FROM dag_run_asset_event WHERE dag_run_id = %(dag_run_id)s)"
        conditions.add(taken, dag_run_id=wanted.dag_run_id)
    found = fetch_page(
        connection,
        select=_EVENT,
        source=_EVENTS,
        conditions=conditions,
        sorts=_EVENT_SORTS,
        default=("-id",),
        unique=("id",),
        request=page,
    )
    _add_created_runs(connection, found.rows)
    return found


def get_event(connection: Connection, event_id: int) -> dict[str, Any]:
    """Return one event that is known to be there, with the runs that it made."""
    found = dict(rows(connection, f"SELECT {_EVENT} FROM {_EVENTS} WHERE event.id = %(id)s", {"id": event_id})[0])
    _add_created_runs(connection, [found])
    return found


def queued_events(
    connection: Connection, *, dag_id: str | None = None, asset_id: int | None = None, before: datetime | None = None
) -> Sequence[Mapping[str, Any]]:
    """Return which assets' events wait for which consumers: for each pair the oldest one's time (``happened_at``)."""
    return rows(connection, _QUEUED, {"dag_id": dag_id, "asset_id": asset_id, "before": before})


def parts_of_schedule(connection: Connection, dag_id: str) -> tuple[set[AssetKey], set[AssetKey]]:
    """Return the parts of a DAG's condition for which an event waits, and those that a task has as an outlet."""
    found = tuples(
        connection,
        """
        SELECT part.kind, part.name,
               EXISTS (SELECT FROM asset_run_queue AS queued
                       WHERE (queued.dag_id, queued.kind, queued.name) = (part.dag_id, part.kind, part.name)),
               EXISTS (SELECT FROM asset_reference AS outlet JOIN dag USING (dag_id)
                       LEFT JOIN asset ON outlet.kind = 'asset' AND asset.name = outlet.name
                       WHERE outlet.role = 'outlet' AND dag.is_active
                         AND ((outlet.kind, outlet.name) = (part.kind, part.name)
                              OR (part.kind = 'uri' AND asset.uri = part.name)))
        FROM asset_reference AS part WHERE part.dag_id = %(dag_id)s AND part.role = 'schedule'
        """,
        {"dag_id": dag_id},
    )
    return {(row[0], row[1]) for row in found if row[2]}, {(row[0], row[1]) for row in found if row[3]}


def begun_partitions(connection: Connection, dag_id: str) -> BegunPartitions | None:
    """Return what has gathered for the partition of a consumer that began first; None if none has begun."""
    found = tuples(
        connection,
        """
        SELECT target_key, count(*) OVER () FROM asset_run_queue
        WHERE dag_id = %(dag_id)s AND target_key <> '' GROUP BY target_key ORDER BY min(event_id) LIMIT 1
        """,
        {"dag_id": dag_id},
    )
    if not found:
        return None
    key, number = found[0]
    return BegunPartitions(number, key, gathered(connection, [(dag_id, key)])[dag_id, key])


def _add_uses(connection: Connection, assets: Sequence[dict[str, Any]]) -> None:
    ids = {"ids": [one["id"] for one in assets]}
    by_role: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
    for row in rows(connection, _REFERENCES, ids) if assets else ():
        by_role.setdefault((row["asset_id"], row["role"]), []).append(row)
    last = {row["asset_id"]: row for row in rows(connection, _LAST_EVENTS, ids)} if assets else {}
    for one in assets:
        one["scheduled_dags"] = by_role.get((one["id"], "schedule"), [])
        one["producing_tasks"] = by_role.get((one["id"], "outlet"), [])
        one["consuming_tasks"] = by_role.get((one["id"], "inlet"), [])
        one["last_event"] = last.get(one["id"])


def _add_created_runs(connection: Connection, events: Sequence[dict[str, Any]]) -> None:
    by_event: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows(connection, _CREATED_RUNS, {"ids": [one["id"] for one in events]}) if events else ():
        by_event.setdefault(row["event_id"], []).append(row)
    for one in events:
        one["created_runs"] = by_event.get(one["id"], [])
