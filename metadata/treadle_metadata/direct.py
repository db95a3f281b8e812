"""A connection that can hand SQL text to the driver itself, without SQLAlchemy's execution context around it.

``treadle_metadata.statements`` is text that needs no compiling, no result types and no events; what is left out was a
quarter of a beat's time. All else works as with any connection, in the same transaction, and an error is SQLAlchemy's
as ever: a connection that broke is thrown away with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import psycopg
from sqlalchemy import Connection

from treadle_metadata.lane import Answer, Lane, Statement

LANE: Final = "lane"
"""Where a connection that prepares everything keeps its lane, in the pool's notes about it."""

Answered = psycopg.Cursor[tuple[Any, ...]] | Answer


class DirectConnection(Connection):
    """Gives ``treadle_metadata.statements`` the driver's own cursor, or a lane where everything is prepared."""

    _driver: psycopg.Connection[tuple[Any, ...]] | None = None
    _lane: Lane | None = None

    def run_directly(self, statements: Sequence[Statement]) -> Sequence[Answered] | None:
        """Run statements and return their answers; None, with nothing done, if somebody listens (as tests do).

        Raises:
            DBAPIError: as SQLAlchemy would raise it.
        """
        driver, lane = self.driver, self._lane
        is_heard = bool(self.dispatch.before_cursor_execute)
        if lane is not None:
            # What psycopg prepares it discards with each rollback, and with it all that the session has prepared.
            driver.prepare_threshold = 0 if is_heard else None
        if is_heard:
            return None
        try:
            if lane is not None:
                return lane.run(statements)
            return [driver.execute(sql, parameters) for sql, parameters in statements]
        except psycopg.Error as error:
            # Also tells whether the connection is still good, and the pool if it is not.
            sql, parameters = statements[0]
            self._handle_dbapi_exception(error, sql, dict(parameters), None, None)

    @property
    def driver(self) -> psycopg.Connection[tuple[Any, ...]]:
        """The driver's connection."""
        if self._driver is None:
            found = self.connection.driver_connection
            assert isinstance(found, psycopg.Connection)
            self._driver = found
            self._lane = self.connection.info.get(LANE)
        return self._driver
