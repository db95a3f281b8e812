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
from treadle_metadata.lane import Answer, Statement


def rows(
    connection: Connection, sql: LiteralString, parameters: Mapping[str, Any] | None = None
) -> Sequence[Mapping[str, Any]]:
    """Run ``sql`` and return all its rows as mappings; each column needs a name of its own."""
    result = _run(connection, [(sql, parameters or {})])[0]
    if isinstance(result, CursorResult):
        # SQLAlchemy's rows can be asked by column object too, which no caller of text needs.
        return cast("Sequence[Mapping[str, Any]]", result.mappings().all())
    found = result.fetchall()
    if not found:
        return []
    names = result.names if isinstance(result, Answer) else [column.name for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found]


def tuples(connection: Connection, sql: LiteralString, parameters: Mapping[str, Any] | None = None) -> Sequence[Any]:
    """Run ``sql`` and return all its rows as tuples: cheaper, for the hot paths."""
    return _run(connection, [(sql, parameters or {})])[0].fetchall()


def execute(connection: Connection, sql: LiteralString, parameters: Mapping[str, Any] | None = None) -> int:
    """Run ``sql`` and return the number of rows it changed."""
    return _run(connection, [(sql, parameters or {})])[0].rowcount


def tuples_of_each(connection: Connection, *statements: Statement) -> list[Sequence[Any]]:
    """Run statements that do not need each other's answers, in this order; return the rows of each as tuples.

    Where the connection allows it they cost one round trip. Each sees what the ones before it did, and what others
    have committed before it began: as if they were run one by one.
    """
    return [one.fetchall() for one in _run(connection, statements)]


def _run(
    connection: Connection, statements: Sequence[Statement]
) -> Sequence[CursorResult[Any] | psycopg.Cursor[tuple[Any, ...]] | Answer]:
    found = connection.run_directly(statements) if isinstance(connection, DirectConnection) else None
    if found is not None:
        return found
    return [connection.exec_driver_sql(sql, dict(parameters)) for sql, parameters in statements]
