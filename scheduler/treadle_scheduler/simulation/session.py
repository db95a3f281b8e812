"""A database whose transactions are run one after another on one connection, and committed once an instant.

Nobody else looks at a simulation's scratch database and nothing in it outlives the simulation, so a commit for each
duty would cost time and protect nothing. A duty that fails ends the simulation: ``failure`` holds the error, which the
loop itself logs and passes over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from sqlalchemy import Connection

from treadle_metadata.connection import Database
from treadle_metadata.direct import DirectConnection

T = TypeVar("T")

_SETTINGS: Final = {
    "synchronous_commit": "off",
    "jit": "off",
}


class Session(Database):
    """The scratch database as the loop and the virtual executor see it."""

    def __init__(self, url: str) -> None:
        super().__init__(url, pool_size=1, application_name="treadle simulation", plan_once=True)
        self.failure: Exception | None = None
        self._connection: DirectConnection | None = None

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Go on in the transaction that is open."""
        try:
            yield self._opened()
        except Exception as error:
            self.failure = self.failure or error
            raise

    def run(self, act: Callable[[Connection], T]) -> T:
        """Run ``act`` in the transaction that is open, once: nobody is there to deadlock with."""
        with self.begin() as connection:
            return act(connection)

    def commit(self) -> None:
        """Commit what was done so far, so that PostgreSQL can clean up behind it."""
        if self._connection is not None:
            # Statements go to the driver directly, so SQLAlchemy may not know of a transaction.
            self._connection.driver.commit()

    def close(self) -> None:
        """Close the connection; what was not committed is lost."""
        if self._connection is not None:
            self._connection.driver.rollback()
            self._connection.close()
            self._connection = None
        super().close()

    def _opened(self) -> Connection:
        if self._connection is None:
            self._connection = DirectConnection(self.engine)
            for name, value in _SETTINGS.items():
                self._connection.exec_driver_sql(
                    "SELECT set_config(%(name)s, %(value)s, false)", {"name": name, "value": value}
                )
        return self._connection
