"""The engine, the one transaction context, and LISTEN/NOTIFY.

Only the edge (a duty, a route, a command) opens a transaction; every function below it takes a connection and cannot
commit. Which failures are retried, and after what wait, is told by ``retry_seconds`` and nowhere else.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar, cast

import psycopg
from sqlalchemy import Connection, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from treadle_metadata.direct import LANE, DirectConnection
from treadle_metadata.lane import Lane, Statement
from treadle_metadata.statements import tuples

WAKE: Final = "treadle_wake"
"""Channel that tells schedulers to look again; one notification per transaction, never one per row."""

RUNS: Final = "runs"
"""Payload of WAKE when runs or their tasks changed, and nothing of schedules, limits or DAGs."""

TASKS: Final = "tasks"
"""Payload of WAKE when attempts ended, and nothing else changed."""

TERMINATE: Final = "treadle_terminate"
"""Channel whose payload is the id of an attempt that must end."""

POOLS: Final = "treadle_pools"
"""Channel that tells DAG processors that pools were made or changed: a DAG refused for one may be fine now."""

PARSE: Final = "treadle_parse"
"""Channel that tells DAG processors to read the file that the payload names again, changed or not."""

RETRIES: Final = 5
T = TypeVar("T")
_RETRIED = ("40001", "40P01", "26000")

# Connections, transactions that were rolled back, resources, people who intervene, the operating system; and sessions
# that were ended, or that find a standby where the primary was.
_PASSING_CLASSES: Final = ("08", "40", "53", "57", "58")
_PASSING: Final = ("25006", "25P03", "55P03")


class Database:
    """The metadata database. Cheap to make; connects at first use.

    With ``idle_seconds``, PostgreSQL ends a session whose transaction waits for us for longer than that. A daemon that
    is stopped in the middle of a transaction would else keep its locks, and all others from work, until it goes on.

    With ``plan_once``, PostgreSQL plans each prepared statement once for all its parameters. Left to itself it plans a
    statement that names a month anew at each run as soon as there are many months, which can cost more than the run.
    For daemons whose statements all have their index; a page's filters are better planned for what is asked.

    ``in_threads`` is for a daemon that works in many threads at once: its statements go straight to libpq as those of
    ``plan_once`` do, and wait there without the interpreter.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 5,
        application_name: str = "treadle",
        idle_seconds: float | None = None,
        plan_once: bool = False,
        in_threads: bool = False,
    ) -> None:
        self.url = url
        self._libpq_url = url.replace("postgresql+psycopg://", "postgresql://", 1)
        self.engine = create_engine(
            self._libpq_url.replace("postgresql://", "postgresql+psycopg://", 1),
            pool_size=pool_size,
            max_overflow=10,
            pool_pre_ping=False,
            # Errors are logged, and what statements are given is users' data: results, rendered fields, hashes.
            hide_parameters=True,
            connect_args={"application_name": application_name, "connect_timeout": 10},
        )
        self._each = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        if idle_seconds is not None:
            self._at_connect(f"SET idle_in_transaction_session_timeout = {round(idle_seconds * 1000)}")
        if plan_once:
            self._at_connect("SET plan_cache_mode = force_generic_plan")
        if plan_once or in_threads:
            event.listen(self.engine, "connect", partial(_prepare_all, in_threads=in_threads))

    def _at_connect(self, statement: str) -> None:
        event.listen(self.engine, "connect", lambda opened, _: _at_once(opened, statement))

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Open one transaction: committed when the block ends, rolled back when it raises."""
        with DirectConnection(self.engine) as connection, connection.begin():
            yield connection

    def run(self, act: Callable[[Connection], T]) -> T:
        """Run ``act`` in one transaction; after a deadlock or serialization failure run it again from the start.

        ``act`` must not have effects outside of the transaction, since it may run several times.
        """
        for failures in range(RETRIES):
            try:
                with self.begin() as connection:
                    return act(connection)
            except DBAPIError as error:
                wait = retry_seconds(error, failures)
                if wait is None:
                    raise
            time.sleep(wait)
        raise AssertionError("unreachable")

    def run_each(self, act: Callable[[Connection], T]) -> T:
        """Run ``act`` with each of its statements a transaction of its own: one round trip where one statement does.

        For acts that may stop half-way and be made again from the start, statement by statement.
        """
        with DirectConnection(self._each) as connection:
            return act(connection)

    def listen(self, channels: Sequence[str] = (WAKE, TERMINATE)) -> psycopg.Connection[tuple[object, ...]]:
        """Return a new autocommit connection that listens, as a scheduler does by default; the caller closes it."""
        connection = psycopg.connect(self._libpq_url, autocommit=True)
        for channel in channels:
            connection.execute(f"LISTEN {channel}")
        return connection

    def close(self) -> None:
        """Close all pooled connections."""
        self.engine.dispose()


def retry_seconds(error: DBAPIError, failures: int) -> float | None:
    """Return how long to wait before a transaction that failed runs again; None: it must not.

    ``failures`` is how often it failed before. Deadlocks and serialization failures are tried ``RETRIES`` times in all.
    """
    if getattr(error.orig, "sqlstate", None) not in _RETRIED or failures == RETRIES - 1:
        return None
    return random.uniform(0.001, 0.02) * (1 << failures)


def is_passing(error: BaseException) -> bool:
    """Tell whether an error says nothing of what was asked: the database is away, full, or was in too great a haste.

    To ask the same later makes sense then. psycopg's ``OperationalError`` alone does not say so: it is also the class
    of what PostgreSQL can never do, such as storing a value that is too large for an index.
    """
    if isinstance(error, PoolTimeoutError):
        return True
    if not isinstance(error, DBAPIError):
        return False
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return error.connection_invalidated or isinstance(error, (InterfaceError, InternalError, OperationalError))
    return error.connection_invalidated or state[:2] in _PASSING_CLASSES or state in _PASSING


def _at_once(opened: DBAPIConnection, statement: str) -> None:
    """Run a statement on a connection that was just opened."""
    cursor = opened.cursor()
    cursor.execute(statement)
    cursor.close()
    opened.commit()


def _prepare_all(opened: DBAPIConnection, entry: ConnectionPoolEntry, *, in_threads: bool) -> None:
    """Have a connection prepare each statement at its first run, and keep them all, or where filters vary the last."""
    driver = cast("psycopg.Connection[Any]", opened)
    driver.prepare_threshold = None
    driver.prepared_max = 1000
    entry.info[LANE] = Lane(driver, 200, in_threads=True) if in_threads else Lane(driver)


def notify(connection: Connection, channel: str, payload: str = "") -> None:
    """Send a notification when the transaction of ``connection`` commits."""
    tuples(connection, *notification(channel, payload))


def notification(channel: str, payload: str = "") -> Statement:
    """Return what ``notify`` runs, for those who have more to run along with it."""
    return "SELECT pg_notify(%(channel)s, %(payload)s)", {"channel": channel, "payload": payload}
