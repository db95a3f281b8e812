"""Connections by page, without their secrets: ``password`` and ``extra`` never leave through this module."""

from __future__ import annotations

from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.conditions import Conditions
from treadle_metadata.queries.paging import Page, PageRequest, SortKey, fetch_page
from treadle_metadata.resources.names import OF_TEAM
from treadle_metadata.statements import rows, tuples

_SELECT: Final[LiteralString] = (
    "connection.team, connection.conn_id, connection.conn_type, connection.description, connection.host,"
    " connection.schema, connection.login, connection.port, connection.password IS NOT NULL AS has_password,"
    " connection.extra IS NOT NULL AS has_extra,"
    # Of the encrypted texts: another one after each edit, and of no use to whoever wants to know the secret.
    " md5(concat(connection.password, ' ', connection.extra)) AS secrets_mark"
)

_SORTS: Final = {
    "conn_id": SortKey("connection.conn_id", "text"),
    "connection_id": SortKey("connection.conn_id", "text"),
    "conn_type": SortKey("connection.conn_type", "text"),
    "team_name": SortKey("connection.team", "text"),
}


def list_connections(
    connection: Connection, page: PageRequest, *, pattern: str | None = None, prefix: str | None = None
) -> Page:
    """Return a page of connections by id, with ``has_password`` and ``has_extra`` instead of the secrets."""
    conditions = Conditions()
    conditions.pattern("connection.conn_id", "pattern", pattern)
    conditions.prefix("connection.conn_id", "prefix", prefix)
    return fetch_page(
        connection,
        select=_SELECT,
        source="connection",
        conditions=conditions,
        sorts=_SORTS,
        default=("conn_id",),
        unique=("conn_id", "team_name"),
        request=page,
    )


def get_connection(connection: Connection, conn_id: str, *, team: str | None = None) -> dict[str, Any]:
    """Return one connection without its secrets; ``team`` None: everybody's if there is one, else the first team's.

    Raises:
        NotFoundError: there is no such connection.
    """
    sql = f"SELECT {_SELECT} FROM connection WHERE conn_id = %(conn_id)s AND {OF_TEAM} ORDER BY team LIMIT 1"
    found = rows(connection, sql, {"conn_id": conn_id, "team": team})
    if not found:
        known = [row[0] for row in tuples(connection, "SELECT conn_id FROM connection")]
        raise NotFoundError("connection", conn_id, known)
    return dict(found[0])
