"""Connections to the databases that tasks ask: PostgreSQL through psycopg, SQLite through the standard library.

Called in a task's own process by operators and sensors that take ``conn_id`` and ``sql``. The metadata database's
credentials are never seen here.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from treadle.connections import Connection
from treadle.errors import ConnectionFormatError, LibraryMissingError

POSTGRES: Final = ("postgres", "postgresql")
_KNOWN: Final = "postgres and sqlite"

Parameters = Mapping[str, Any] | Sequence[Any] | None


def rows_of(conn_id: str, sql: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
    """Run one statement and return its rows, none if it returns none; committed. Placeholders are the driver's own.

    Raises:
        ConnectionNotFoundError: there is no such connection.
        ConnectionFormatError: it is of a type that is not known here.
        LibraryMissingError: psycopg is not installed where the task runs.
    """
    with closing(opened(Connection.get(conn_id))) as database:
        cursor = database.execute(sql, parameters) if parameters else database.execute(sql)
        found = [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        database.commit()
    return found


def opened(named: Connection) -> Any:
    """Open a connection of the DB API; see :func:`rows_of`."""
    if named.conn_type in POSTGRES:
        return _postgres(named)
    if named.conn_type == "sqlite":
        path = named.host or (f"/{named.schema}" if named.schema else ":memory:")
        # A library that few tasks need.
        return importlib.import_module("sqlite3").connect(path)
    reason = f"it is of type {named.conn_type}; SQL is run on connections of the types {_KNOWN}"
    raise ConnectionFormatError(conn_id=named.conn_id, reason=reason)


def _postgres(named: Connection) -> Any:
    try:
        psycopg = importlib.import_module("psycopg")
    except ImportError as error:
        raise LibraryMissingError("psycopg", "query on PostgreSQL") from error
    where = {"host": named.host, "port": named.port, "user": named.login, "password": named.password}
    given = {**where, "dbname": named.schema, **named.extra_dejson}
    return psycopg.connect(**{name: value for name, value in given.items() if value})
