"""Grants: what one account, or each member of a team, may do with one DAG beside what their roles say.

Called by the routes and commands that manage accounts. A grant outlives its DAG and may be there before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.errors import InvalidRequestError, NotFoundError, shown
from treadle_metadata.resources.names import checked_name
from treadle_metadata.rights.held import known
from treadle_metadata.rights.permissions import OF_DAGS, Permission, checked_permissions
from treadle_metadata.rights.teams import require_team
from treadle_metadata.statements import execute, tuples


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a grant is for: an account or a team.

    Raises:
        InvalidRequestError: neither is named, or both are.
    """

    username: str | None = None
    team: str | None = None

    def __post_init__(self) -> None:
        if (self.username is None) == (self.team is None):
            raise InvalidRequestError("whom is the grant for? Expected either an account or a team")

    def __str__(self) -> str:
        return f"account {shown(self.username)}" if self.team is None else f"team {shown(self.team)}"


@dataclass(frozen=True, slots=True)
class Grant:
    """What a holder may do with a DAG."""

    dag_id: str
    holder: Holder
    permissions: tuple[Permission, ...]


_OF_HOLDER: Final[LiteralString] = """
    username IS NOT DISTINCT FROM %(username)s AND team IS NOT DISTINCT FROM %(team)s AND dag_id = %(dag_id)s
"""


def list_grants(connection: Connection, dag_id: str | None = None) -> list[Grant]:
    """Return all grants, or those of one DAG, by DAG and holder."""
    sql = """
        SELECT dag_id, username, team, permissions FROM dag_grant
        WHERE %(dag_id)s::text IS NULL OR dag_id = %(dag_id)s ORDER BY dag_id, username, team
    """
    found = tuples(connection, sql, {"dag_id": dag_id})
    return [Grant(row[0], Holder(row[1], row[2]), tuple(sorted(known(row[3])))) for row in found]


def set_grant(
    connection: Connection, dag_id: str, holder: Holder, permissions: Iterable[str], *, now: datetime
) -> tuple[Permission, ...]:
    """Let ``holder`` do exactly this with a DAG; no permission at all takes the grant away. Return what it held.

    To see the DAG (``read DAGs``) comes with every other permission.

    Raises:
        NotFoundError: there is no such account, team or permission.
        InvalidRequestError: the DAG's id or a permission cannot be used.
    """
    checked_name("DAG id", dag_id, field="dag_id")
    _require_holder(connection, holder)
    wanted = checked_permissions(permissions, OF_DAGS)
    if wanted:
        wanted = tuple(sorted({*wanted, Permission.READ_DAGS}))
    named = {"dag_id": dag_id, "username": holder.username, "team": holder.team}
    before = tuples(connection, f"SELECT permissions FROM dag_grant WHERE {_OF_HOLDER} FOR UPDATE", named)
    execute(connection, f"DELETE FROM dag_grant WHERE {_OF_HOLDER}", named)
    if wanted:
        execute(
            connection,
            """
            INSERT INTO dag_grant (dag_id, username, team, permissions, created_at)
            VALUES (%(dag_id)s, %(username)s, %(team)s, %(permissions)s, %(now)s)
            """,
            named | {"permissions": [one.value for one in wanted], "now": now},
        )
    return tuple(sorted(known(before[0][0]))) if before else ()


def _require_holder(connection: Connection, holder: Holder) -> None:
    if holder.team is not None:
        require_team(connection, holder.team)
        return
    known_names = [row[0] for row in tuples(connection, "SELECT username FROM account")]
    if holder.username not in known_names:
        raise NotFoundError("account", holder.username, known_names)
