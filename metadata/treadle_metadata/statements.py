"""How SQL text is run: one function, so that each statement's text stays readable and takes named parameters.

Hot statements are written as SQL that any PostgreSQL reader knows and take whole sets as arrays (``unnest``): one
statement for each kind of change, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString, cast

import psycopg
from sqlalchemy import Connection, CursorResult

from treadle_metadata.direct import DirectConnection


def rows(
    connection: Connection, sql: LiteralString, parameters: Mapping[str, Any] | None = None
) -> Sequence[Mapping[str, Any]]:
    """Run ``sql`` and return all its rows as mappings; each column needs a name of its own."""
    result = _run(connection, sql, parameters)
    if isinstance(result, CursorResult):
        # SQLAlchemy's rows can be asked by column object too, which no caller of text needs.
        return cast("Sequence[Mapping[str, Any]]", result.mappings().all())
    found = result.fetchall()
    names = [column.name for column in result.description or ()] if found else []
    return [dict(zip(names, row, strict=True)) for row in found]


def tuples(connection: Connection, sql: LiteralString, parameters: Mapping[str, Any] | None = None) -> Sequence[Any]:
    """Run ``sql`` and return all its rows as tuples: cheaper, for the hot paths."""
    return _run(connection, sql, parameters).fetchall()


def execute(connection: Connection, sql: LiteralString, parameters: Mapping[str, Any] | None = None) -> int:
    """Run ``sql`` and return the number of rows it changed."""
    return _run(connection, sql, parameters).rowcount


def _run(
    connection: Connection, sql: LiteralString, parameters: Mapping[str, Any] | None
) -> CursorResult[Any] | psycopg.Cursor[tuple[Any, ...]]:
    named = dict(parameters or {})
    found = connection.run_directly(sql, named) if isinstance(connection, DirectConnection) else None
    return connection.exec_driver_sql(sql, named) if found is None else found
