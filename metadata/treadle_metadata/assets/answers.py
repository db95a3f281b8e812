"""What a running task is told of assets and their events. Only reads; called by ``treadle_metadata.execution``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.statements import rows

MOST_EVENTS: Final = 10_000
"""What one answer holds at most; the newest, if there are more."""

_COLUMNS: Final = """
        SELECT event.id, asset.name, asset.uri, asset.group_name AS "group", event.extra, event.partition_key,
               event.happened_at, event.source_dag_id, event.source_task_id, event.source_run_id,
               event.source_map_index,
               ARRAY(SELECT alias_name FROM asset_alias_event AS aliased WHERE aliased.event_id = event.id
                     ORDER BY alias_name) AS aliases
        FROM asset_event AS event JOIN asset ON asset.id = event.asset_id
"""

_WINDOW: Final = """
          AND (%(after)s::timestamptz IS NULL OR event.happened_at >= %(after)s)
          AND (%(before)s::timestamptz IS NULL OR event.happened_at < %(before)s)
"""

_OF_ASSET: Final = f"{_COLUMNS} WHERE asset.name = %(name)s {_WINDOW}"
_OF_ADDRESS: Final = f"{_COLUMNS} WHERE asset.uri = %(name)s {_WINDOW}"
_OF_ALIAS: Final = f"""{_COLUMNS}
        WHERE event.id IN (SELECT event_id FROM asset_alias_event WHERE alias_name = %(name)s) {_WINDOW}
"""
_NEWEST: Final = " ORDER BY event.id DESC LIMIT %(limit)s"
_OLDEST: Final = " ORDER BY event.id LIMIT %(limit)s"

_STATEMENTS: Final = {
    ("asset", True): _OF_ASSET + _OLDEST,
    ("asset", False): _OF_ASSET + _NEWEST,
    ("uri", True): _OF_ADDRESS + _OLDEST,
    ("uri", False): _OF_ADDRESS + _NEWEST,
    ("alias", True): _OF_ALIAS + _OLDEST,
    ("alias", False): _OF_ALIAS + _NEWEST,
}

_TRIGGERING: Final = f"""{_COLUMNS}
        JOIN dag_run_asset_event AS taken ON taken.event_id = event.id
        WHERE taken.dag_run_id = %(dag_run_id)s ORDER BY event.id
"""


_FACTS: Final = 'SELECT name, uri, group_name AS "group", extra AS asset_extra FROM asset'
_BY_NAME: Final = f"{_FACTS} WHERE name = %(name)s"
_BY_ADDRESS: Final = f"{_FACTS} WHERE uri = %(name)s ORDER BY id LIMIT 1"


def answer(connection: Connection, op: str, args: Mapping[str, Any], run: Mapping[str, Any]) -> Any:
    """Answer one of the questions about assets of an attempt of ``run``."""
    if op == "get_asset":
        return find_asset(connection, args["kind"], args["name"])
    return asset_events(connection, args) if op == "get_asset_events" else triggering_events(connection, run["id"])


def find_asset(connection: Connection, kind: str, name: str) -> dict[str, Any] | None:
    """Return an asset's facts by its name, or by its address (the oldest of it), or None."""
    found = rows(connection, _BY_ADDRESS if kind == "uri" else _BY_NAME, {"name": name})
    return dict(found[0]) if found else None


def asset_events(connection: Connection, args: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return events of an asset, an address or an alias; without a limit the newest 10,000, in the order asked for."""
    ascending = bool(args.get("ascending", True))
    limit = args.get("limit")
    # Without a limit the newest are what is kept, so they are read from that end.
    reads_up = ascending and limit is not None
    parameters = {
        "name": args["name"],
        "after": args.get("after"),
        "before": args.get("before"),
        "limit": MOST_EVENTS if limit is None else max(0, min(int(limit), MOST_EVENTS)),
    }
    found = rows(connection, _STATEMENTS[args["kind"], reads_up], parameters)
    return _answers(found if reads_up == ascending else found[::-1])


def triggering_events(connection: Connection, dag_run_id: int) -> list[dict[str, Any]]:
    """Return the events that a run was made of, the oldest first."""
    return _answers(rows(connection, _TRIGGERING, {"dag_run_id": dag_run_id}))


def _answers(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    plain = [dict(row) for row in found]
    for row in plain:
        row["timestamp"] = row.pop("happened_at").isoformat()
    return plain
