"""How SQL text is run: one function, so that each statement's text stays readable and takes named parameters.

Hot statements are written as SQL that any PostgreSQL reader knows and take whole sets as arrays (``unnest``): one
statement for each kind of change, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString, cast

from sqlalchemy import Connection


def rows(
    connection: Connection, sql: LiteralString, parameters: Mapping[str, Any] | None = None
) -> Sequence[Mapping[str, Any]]:
    """Run ``sql`` and return all its rows as mappings."""
    found = connection.exec_driver_sql(sql, dict(parameters or {})).mappings().all()
    # SQLAlchemy's rows can be asked by column object too, which no caller of text needs.
    return cast("Sequence[Mapping[str, Any]]", found)


def tuples(connection: Connection, sql: LiteralString, parameters: Mapping[str, Any] | None = None) -> Sequence[Any]:
    """Run ``sql`` and return all its rows as tuples: cheaper, for the hot paths."""
    return connection.exec_driver_sql(sql, dict(parameters or {})).all()


def execute(connection: Connection, sql: LiteralString, parameters: Mapping[str, Any] | None = None) -> int:
    """Run ``sql`` and return the number of rows it changed."""
    return connection.exec_driver_sql(sql, dict(parameters or {})).rowcount
