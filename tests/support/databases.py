"""The tests' PostgreSQL: one server for a session, a migrated template, and quick clones of it.

The server is the embedded one, its data in memory where the system allows; ``TREADLE_TEST_DATABASE_URL`` (of a role
that may create databases) takes its place. The template's name holds a hash of the migrations, so that a kept server
never serves an old schema.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
from sqlalchemy import QueuePool
from sqlalchemy.exc import DBAPIError

from treadle_metadata import embedded_postgres, migration, partitions
from treadle_metadata.connection import Database
from treadle_metadata.rights import scoped_views
from treadle_metadata.tables import metadata
from treadle_metadata.transitions import recording

CLOCK_START = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
"""Where the fixture ``clock`` begins; the template has the partitions of its month and the next."""

URL_VARIABLE = "TREADLE_TEST_DATABASE_URL"
MOST_DEAD_ROWS = 5_000
"""In one table."""

_TEMPLATE_LOCK = 0x74726561646C6510
_MEMORY = Path("/dev/shm")


@contextmanager
def server() -> Iterator[str]:
    """Yield the URL of a server's maintenance database: the given one's, or of an embedded server of our own."""
    given = os.environ.get(URL_VARIABLE)
    if given:
        yield given
        return
    in_memory = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK)
    folder = Path(tempfile.mkdtemp(prefix="treadle-tests-", dir=_MEMORY if in_memory else None))
    try:
        with embedded_postgres.EmbeddedPostgres(folder, uuid4().hex, durable=False) as started:
            yield started.url("postgres")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def template(server_url: str) -> str:
    """Return the name of the migrated template on the server, made if it is not there."""
    digest = hashlib.sha256()
    for path in sorted((migration.folder() / "versions").iterdir()):
        if path.is_file():
            digest.update(path.read_bytes())
    digest.update(scoped_views.digest().encode())
    name = f"treadle_template_{digest.hexdigest()[:16]}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (_TEMPLATE_LOCK,))
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone() is None:
            unfinished = f"{name}_unfinished"
            embedded_postgres.drop_database(server_url, unfinished)
            embedded_postgres.create_database(server_url, unfinished)
            migration.migrate(_on(server_url, unfinished), CLOCK_START)
            connection.execute(f"ALTER DATABASE {unfinished} RENAME TO {name}")
    return name


@contextmanager
def clone(server_url: str) -> Iterator[str]:
    """Yield the URL of a fresh migrated database, which is dropped afterwards, whoever is still connected."""
    name = f"treadle_test_{os.getpid()}_{uuid4().hex[:8]}"
    _copy(server_url, name, template(server_url))
    url = _on(server_url, name)
    try:
        opened = Database(url, pool_size=1)
        with opened.begin() as connection:
            partitions.ensure_ahead(connection, datetime.now(UTC))
            # The database itself refuses every unlawful move, in each test.
            recording.set_recording(connection, on=True)
        opened.close()
        yield url
    finally:
        if url in _EMPTYINGS:
            _EMPTYINGS.pop(url).close()
        embedded_postgres.drop_database(server_url, name)


def _copy(server_url: str, name: str, original: str) -> None:
    """Copy a database as files; through the log, the one way of PostgreSQL 14, it takes ten times as long."""
    with psycopg.connect(server_url, autocommit=True) as connection:
        strategy = " STRATEGY FILE_COPY" if connection.info.server_version >= 150_000 else ""
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {original}{strategy}".encode())


def delete_all_rows(url: str) -> None:
    """Empty all tables, but for the row that a new database has."""
    if url not in _EMPTYINGS:
        _EMPTYINGS[url] = Emptying(url)
    _EMPTYINGS[url].delete_all_rows()


class Emptying:
    """Empties a database between tests over one connection, which plans the long statement once (else 20 ms a test).

    Deleted rows stay in the files, since nothing vacuums: where there are many, each test after it would walk through
    them several times, so that the table is truncated, which takes longer.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._dead: Counter[str] = Counter()
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None

    def delete_all_rows(self) -> None:
        """Empty all tables; one statement, so that foreign keys need no order."""
        try:
            self._delete()
        except psycopg.OperationalError:
            # A test may end all sessions; a lock that it left behind makes the second attempt fail as well.
            self.close()
            self._delete()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _delete(self) -> None:
        if self._connection is None:
            self._connection = psycopg.connect(self._url)
            # A test that left a transaction open must fail, not hang the session.
            self._connection.execute("SET lock_timeout = '5s'")
        with self._connection.transaction():
            deleted = self._connection.execute(_DELETE, prepare=True).fetchone()
            self._dead.update(dict(zip(_NAMES, deleted or (), strict=True)))
            full = [name for name, rows in self._dead.items() if rows > MOST_DEAD_ROWS]
            if full:
                self._connection.execute(f"TRUNCATE {', '.join(full)} CASCADE".encode())
                for name in full:
                    del self._dead[name]
            self._connection.execute(_RESET_POOL, prepare=True)
        self._connection.commit()


def keep_if_clean(database: Database) -> None:
    """Close the pooled connections, unless it is one that nothing but the lane has prepared statements on.

    It has planned the statements that the next test runs too, which costs more than most tests. What psycopg itself
    prepared (where a test listened to statements) it would discard with a rollback, and the lane's along with it.
    """
    pool = database.engine.pool
    assert isinstance(pool, QueuePool)
    if (pool.checkedin(), pool.checkedout()) != (1, 0):
        database.close()
        return
    try:
        with database.begin() as connection:
            is_clean = connection.exec_driver_sql(_IS_CLEAN).scalar()
    except DBAPIError:
        is_clean = False
    if not is_clean:
        database.close()


_EMPTYINGS: dict[str, Emptying] = {}
_NAMES = [table.name for table in metadata.sorted_tables if table.name != "slot_pool"]
_DELETE = (
    "WITH pools AS (DELETE FROM slot_pool WHERE name <> 'default_pool'), "
    + ", ".join(f"of_{name} AS (DELETE FROM {name} RETURNING 1)" for name in _NAMES)
    + " SELECT "
    + ", ".join(f"(SELECT count(*) FROM of_{name})" for name in _NAMES)
)
_IS_CLEAN = "SELECT NOT EXISTS (SELECT FROM pg_prepared_statements WHERE starts_with(name, '_pg3_'))"
_RESET_POOL = (
    "INSERT INTO slot_pool (name, slots) VALUES ('default_pool', 128) "
    "ON CONFLICT (name) DO UPDATE SET slots = 128, include_deferred = false"
)


def _on(server_url: str, database: str) -> str:
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{database}"))
