"""The engine, the one transaction context, and LISTEN/NOTIFY.

Only the edge (a duty, a route, a command) opens a transaction; every function below it takes a connection and cannot
commit. Deadlocks and serialization failures are retried here and nowhere else.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import psycopg
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import DBAPIError

WAKE: Final = "treadle_wake"
"""Channel that tells schedulers to look again; one notification per transaction, never one per row."""

RUNS: Final = "runs"
"""Payload of WAKE when runs or their tasks changed, and nothing of schedules, limits or DAGs."""

TERMINATE: Final = "treadle_terminate"
"""Channel whose payload is the id of an attempt that must end."""

RETRIES: Final = 5
T = TypeVar("T")
_RETRIED = ("40001", "40P01")


class Database:
    """The metadata database. Cheap to make; connects at first use.

    With ``idle_seconds``, PostgreSQL ends a session whose transaction waits for us for longer than that. A daemon that
    is stopped in the middle of a transaction would else keep its locks, and all others from work, until it goes on.
    """

    def __init__(
        self, url: str, *, pool_size: int = 5, application_name: str = "treadle", idle_seconds: float | None = None
    ) -> None:
        self.url = url
        connect_args = {"application_name": application_name, "connect_timeout": 10}
        if idle_seconds is not None:
            connect_args["options"] = f"-c idle_in_transaction_session_timeout={round(idle_seconds * 1000)}"
        self._libpq_url = url.replace("postgresql+psycopg://", "postgresql://", 1)
        self.engine = create_engine(
            self._libpq_url.replace("postgresql://", "postgresql+psycopg://", 1),
            pool_size=pool_size,
            max_overflow=10,
            pool_pre_ping=False,
            connect_args=connect_args,
        )

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Open one transaction: committed when the block ends, rolled back when it raises."""
        with self.engine.begin() as connection:
            yield connection

    def run(self, act: Callable[[Connection], T]) -> T:
        """Run ``act`` in one transaction; after a deadlock or serialization failure run it again from the start.

        ``act`` must not have effects outside of the transaction, since it may run several times.
        """
        for attempt in range(RETRIES):
            try:
                with self.begin() as connection:
                    return act(connection)
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", None) not in _RETRIED or attempt == RETRIES - 1:
                    raise
                time.sleep(random.uniform(0.001, 0.02) * 2**attempt)
        raise AssertionError("unreachable")

    def listen(self) -> psycopg.Connection[tuple[object, ...]]:
        """Return a new autocommit connection that listens on both channels; the caller closes it."""
        connection = psycopg.connect(self._libpq_url, autocommit=True)
        connection.execute(f"LISTEN {WAKE}")
        connection.execute(f"LISTEN {TERMINATE}")
        return connection

    def close(self) -> None:
        """Close all pooled connections."""
        self.engine.dispose()


def notify(connection: Connection, channel: str, payload: str = "") -> None:
    """Send a notification when the transaction of ``connection`` commits."""
    connection.execute(text("SELECT pg_notify(:channel, :payload)"), {"channel": channel, "payload": payload})
