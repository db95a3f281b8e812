"""Roles: sets of permissions under a name. Four, and Member, are built in; the others an installation makes itself.

Called by the routes and commands that manage accounts. A change counts from the next request on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from treadle_metadata.errors import ConflictError, InvalidRequestError, NotFoundError, shown
from treadle_metadata.resources.names import checked_name, checked_text
from treadle_metadata.rights.held import known
from treadle_metadata.rights.permissions import ROLES, Permission, checked_permissions
from treadle_metadata.statements import execute, tuples


@dataclass(frozen=True, slots=True)
class StoredRole:
    """A role with its permissions, sorted."""

    name: str
    permissions: tuple[Permission, ...]
    description: str
    is_built_in: bool


def list_roles(connection: Connection) -> list[StoredRole]:
    """Return the built-in roles, the weakest first, then the others by name."""
    built_in = [StoredRole(name, tuple(sorted(held)), "", True) for name, held in ROLES.items()]
    found = tuples(connection, "SELECT name, permissions, description FROM role ORDER BY name")
    return built_in + [StoredRole(row[0], tuple(sorted(known(row[1]))), row[2], False) for row in found]


def require_role(connection: Connection, name: str) -> StoredRole:
    """Return the role, letter case aside.

    Raises:
        NotFoundError: there is none.
    """
    every = list_roles(connection)
    for one in every:
        if one.name.lower() == name.lower():
            return one
    raise NotFoundError("role", name, [one.name for one in every])


def checked_role(connection: Connection, name: str) -> str:
    """Return the name of the role as it is stored.

    Raises:
        NotFoundError: there is no such role.
    """
    built_in = {one.lower(): one for one in ROLES}
    return built_in.get(name.lower()) or require_role(connection, name).name


def set_role(
    connection: Connection, name: str, permissions: Iterable[str], description: str = "", *, now: datetime
) -> StoredRole | None:
    """Make a role, or give the one of that name these permissions; return what it was before.

    Raises:
        ConflictError: it is built in.
        InvalidRequestError: the name cannot be used, or no permission is given.
        NotFoundError: a permission does not exist.
    """
    checked_name("role name", name)
    if name.lower() in {one.lower() for one in ROLES}:
        raise ConflictError(f"role {shown(name)} is built in: make another one beside it", field="name")
    wanted = checked_permissions(permissions)
    if not wanted:
        raise InvalidRequestError(f"role {shown(name)} has no permission; the built-in role Member is for that")
    before = next((one for one in list_roles(connection) if one.name.lower() == name.lower()), None)
    execute(
        connection,
        """
        INSERT INTO role (name, description, permissions, created_at)
        VALUES (%(name)s, %(description)s, %(permissions)s, %(now)s)
        ON CONFLICT (name) DO UPDATE SET description = excluded.description, permissions = excluded.permissions
        """,
        {
            "name": before.name if before else name,
            "description": checked_text("the description of a role", description),
            "permissions": [one.value for one in wanted],
            "now": now,
        },
    )
    return before


def delete_role(connection: Connection, name: str) -> StoredRole:
    """Delete a role that nobody has; return it.

    Raises:
        NotFoundError: there is none.
        ConflictError: it is built in, or somebody has it.
    """
    found = require_role(connection, name)
    if found.is_built_in:
        raise ConflictError(f"role {shown(found.name)} is built in: it cannot be deleted")
    holders = tuples(
        connection,
        """
        SELECT username FROM account WHERE role = %(role)s
        UNION SELECT username FROM team_member WHERE role = %(role)s ORDER BY username LIMIT 1
        """,
        {"role": found.name},
    )
    if holders:
        holder = shown(holders[0][0])
        raise ConflictError(f"role {shown(found.name)} is held by account {holder}: give that one another role first")
    execute(connection, "DELETE FROM role WHERE name = %(name)s", {"name": found.name})
    return found
