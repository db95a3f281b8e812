"""A connection that can hand SQL text to the driver itself, without SQLAlchemy's execution context around it.

``treadle_metadata.statements`` is text that needs no compiling, no result types and no events; what is left out was a
quarter of a beat's time. All else works as with any connection, in the same transaction, and an error is SQLAlchemy's
as ever: a connection that broke is thrown away with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, LiteralString

import psycopg
from sqlalchemy import Connection


class DirectConnection(Connection):
    """Gives ``treadle_metadata.statements`` the driver's own cursor."""

    _driver: psycopg.Connection[tuple[Any, ...]] | None = None

    def run_directly(self, sql: LiteralString, parameters: Mapping[str, Any]) -> psycopg.Cursor[tuple[Any, ...]] | None:
        """Run ``sql`` and return the cursor; None, with nothing done, if somebody listens to statements (as tests do).

        Raises:
            DBAPIError: as SQLAlchemy would raise it.
        """
        if self.dispatch.before_cursor_execute:
            return None
        try:
            return self.driver.execute(sql, parameters)
        except psycopg.Error as error:
            # Also tells whether the connection is still good, and the pool if it is not.
            self._handle_dbapi_exception(error, sql, dict(parameters), None, None)

    @property
    def driver(self) -> psycopg.Connection[tuple[Any, ...]]:
        """The driver's connection."""
        if self._driver is None:
            found = self.connection.driver_connection
            assert isinstance(found, psycopg.Connection)
            self._driver = found
        return self._driver
