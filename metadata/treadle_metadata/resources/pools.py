"""Pools: how many slots tasks of a kind may take together. ``default_pool`` is always there.

A pool is a team's, so that no other team's DAG may name it, or everybody's; its name is unique all the same.

Making or changing one tells the DAG processors, which read the files again that were refused for a pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.connection import POOLS, notify
from treadle_metadata.errors import ConflictError, InvalidRequestError, NotFoundError, shown
from treadle_metadata.resources.names import checked_name, checked_text
from treadle_metadata.statements import execute, rows, tuples

DEFAULT_POOL: Final = "default_pool"
UNLIMITED: Final = -1
_MOST_SLOTS: Final = 2**31 - 1

_INSERT: Final = """
    INSERT INTO slot_pool (name, slots, description, include_deferred, team)
    VALUES (%(name)s, %(slots)s, %(description)s, %(include_deferred)s, coalesce(%(team)s, ''))
    ON CONFLICT (name) DO NOTHING
"""

_SET: Final = """
    INSERT INTO slot_pool (name, slots, description, include_deferred, team)
    VALUES (%(name)s, %(slots)s, %(description)s, %(include_deferred)s, coalesce(%(team)s, ''))
    ON CONFLICT (name) DO UPDATE
    SET slots = excluded.slots, description = excluded.description, include_deferred = excluded.include_deferred,
        team = coalesce(%(team)s, slot_pool.team)
"""


def create_pool(
    connection: Connection,
    name: str,
    slots: int,
    description: str = "",
    *,
    include_deferred: bool = False,
    team: str = "",
) -> None:
    """Create a pool of ``team``; ``slots`` -1 means without limit.

    Raises:
        ConflictError: there is one with that name.
        InvalidRequestError: the name or the number of slots cannot be used.
    """
    if execute(connection, _INSERT, _checked(name, slots, description, include_deferred, team)) == 0:
        raise ConflictError(f"pool {shown(name)} exists already", field="name")
    notify(connection, POOLS)


def set_pool(
    connection: Connection,
    name: str,
    slots: int,
    description: str = "",
    *,
    include_deferred: bool = False,
    team: str | None = None,
) -> None:
    """Create a pool or change the one with that name; ``team`` None leaves it whose it is.

    Raises:
        InvalidRequestError: the name or the number of slots cannot be used.
    """
    execute(connection, _SET, _checked(name, slots, description, include_deferred, team))
    notify(connection, POOLS)


_NAMING_DAGS: Final = """
    SELECT dag.dag_id FROM dag JOIN dag_version AS version ON version.id = dag.version_id
    WHERE dag.is_active
      AND EXISTS (
          SELECT FROM jsonb_array_elements(version.document -> 'tasks') AS task WHERE task ->> 'pool' = %(name)s)
    ORDER BY dag.dag_id LIMIT 1
"""


def delete_pool(connection: Connection, name: str) -> None:
    """Delete a pool.

    Raises:
        NotFoundError: there is none with that name.
        ConflictError: it is ``default_pool``, or unfinished task instances or a DAG need it.
    """
    if name == DEFAULT_POOL:
        raise ConflictError(f"pool {DEFAULT_POOL!r} is always there: it cannot be deleted")
    waiting = """
        SELECT (SELECT count(*) FROM task_instance
                WHERE state IN ('queued', 'running', 'restarting', 'deferred') AND pool = %(name)s)
             + (SELECT count(*) FROM task_instance WHERE state = 'scheduled' AND pool = %(name)s)
    """
    ((users,),) = tuples(connection, waiting, {"name": name})
    if users:
        raise ConflictError(f"pool {shown(name)} is used by {users} unfinished task instances: let them end first")
    for row in tuples(connection, _NAMING_DAGS, {"name": name}):
        raise ConflictError(f"pool {shown(name)} is named by a task of DAG {shown(row[0])}: change the DAG first")
    if execute(connection, "DELETE FROM slot_pool WHERE name = %(name)s", {"name": name}) == 0:
        known = [row[0] for row in tuples(connection, "SELECT name FROM slot_pool")]
        raise NotFoundError("pool", name, known)


def export_pools(connection: Connection) -> dict[str, dict[str, Any]]:
    """Return all pools as ``{name: {slots, description, include_deferred}}``, sorted by name."""
    found = rows(connection, "SELECT * FROM slot_pool ORDER BY name")
    return {row["name"]: {key: row[key] for key in ("slots", "description", "include_deferred")} for row in found}


def import_pools(connection: Connection, content: Mapping[str, Any]) -> list[str]:
    """Create or change the pools of an export; return their names.

    Raises:
        InvalidRequestError: an entry is no object with ``slots``, or a value cannot be used.
    """
    for name, one in content.items():
        if not isinstance(one, Mapping) or not isinstance(one.get("slots"), int):
            raise InvalidRequestError(f"pool {shown(name)} of the import: expected an object with an integer 'slots'")
        set_pool(
            connection,
            name,
            one["slots"],
            str(one.get("description") or ""),
            include_deferred=bool(one.get("include_deferred", False)),
        )
    return list(content)


def _checked(
    name: str, slots: int, description: str, include_deferred: bool, team: str | None = None
) -> dict[str, Any]:
    if not UNLIMITED <= slots <= _MOST_SLOTS:
        raise InvalidRequestError(
            f"pool {shown(name)} cannot have {slots} slots: expected -1 (no limit) or 0 and more", field="slots"
        )
    if team and name == DEFAULT_POOL:
        raise ConflictError(f"pool {DEFAULT_POOL!r} is everybody's: it cannot be a team's")
    return {
        "team": team,
        "name": checked_name("pool name", name),
        "slots": slots,
        "description": checked_text("the description of a pool", description),
        "include_deferred": include_deferred,
    }
