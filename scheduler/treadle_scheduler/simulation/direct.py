"""A connection that hands SQL text to the driver without SQLAlchemy's execution context: a third of the time of a beat.

The duties' statements are text that needs no compiling, no result types and no events. Everything else of a connection
works as it always does, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import psycopg
from sqlalchemy import Connection, CursorResult


class DirectConnection(Connection):
    """Runs ``treadle_metadata.statements`` on the driver's own cursor."""

    _driver: psycopg.Connection[tuple[Any, ...]] | None = None

    def exec_driver_sql(
        self,
        statement: str,
        parameters: Any = None,
        execution_options: Any = None,  # noqa: ARG002 (SQLAlchemy's)
    ) -> CursorResult[Any]:
        """Run ``statement`` and return as much of a result as ``treadle_metadata.statements`` asks for."""
        driver = self.driver
        return cast("CursorResult[Any]", _Found(driver.execute(cast("Any", statement), parameters)))

    @property
    def driver(self) -> psycopg.Connection[tuple[Any, ...]]:
        """The driver's connection."""
        if self._driver is None:
            self._driver = cast("psycopg.Connection[tuple[Any, ...]]", self.connection.driver_connection)
        return self._driver


class _Found:
    """The rows of one statement."""

    __slots__ = ("_cursor", "_named")

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]]) -> None:
        self._cursor = cursor
        self._named = False

    def mappings(self) -> _Found:
        """Give rows by column name."""
        self._named = True
        return self

    def all(self) -> Sequence[tuple[Any, ...]] | Sequence[Mapping[str, Any]]:
        """Return all rows."""
        found = self._cursor.fetchall()
        if not self._named or not found:
            return found
        names = [column.name for column in self._cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found]

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""
        return self._cursor.rowcount
