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
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg

from treadle_metadata import embedded_postgres, migration, partitions
from treadle_metadata.connection import Database
from treadle_metadata.rights import scoped_views
from treadle_metadata.tables import metadata
from treadle_metadata.transitions import recording

CLOCK_START = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
"""Where the fixture ``clock`` begins; the template has the partitions of its month and the next."""

URL_VARIABLE = "TREADLE_TEST_DATABASE_URL"
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
    embedded_postgres.create_database(server_url, name, template(server_url))
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
        embedded_postgres.drop_database(server_url, name)


def delete_all_rows(url: str) -> None:
    """Empty all tables, but for the row that a new database has. One statement, so that foreign keys need no order."""
    with psycopg.connect(url) as connection:
        # A test that left a transaction open must fail, not hang the session.
        connection.execute("SET lock_timeout = '5s'")
        connection.execute(_DELETE)
        connection.execute(_RESET_POOL)


_NAMES = [table.name for table in metadata.sorted_tables if table.name != "slot_pool"]
_DELETE = (
    "WITH pools AS (DELETE FROM slot_pool WHERE name <> 'default_pool'), "
    + ", ".join(f"of_{name} AS (DELETE FROM {name})" for name in _NAMES)
    + " SELECT 1"
)
_RESET_POOL = (
    "INSERT INTO slot_pool (name, slots) VALUES ('default_pool', 128) "
    "ON CONFLICT (name) DO UPDATE SET slots = 128, include_deferred = false"
)


def _on(server_url: str, database: str) -> str:
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{database}"))
