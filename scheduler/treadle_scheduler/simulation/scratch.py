"""The scratch database of a simulation: made for it, dropped after it, and never the installation's own.

It stands on the installation's server if the role may create databases, else on a throwaway embedded server. Its name
tells what it is and when it was made: what a killed simulation left behind is dropped by the next one.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import psycopg

from treadle_metadata import embedded_postgres, migration
from treadle_metadata.embedded_postgres import EmbeddedPostgres
from treadle_metadata.settings import Settings

PREFIX: Final = "treadle_simulation_"
LEFT_BEHIND: Final = timedelta(hours=1)
"""A scratch database this old that nobody is connected to belongs to a simulation that was killed."""

_NAME: Final = re.compile(rf"{PREFIX}(\d+)_[0-9a-f]{{8}}")
_MEMORY: Final = Path("/dev/shm")


@contextmanager
def scratch_database(settings: Settings, *, begin: datetime, now: datetime) -> Iterator[str]:
    """Yield the URL of an empty database with this Treadle's schema and the partitions of ``begin``.

    Raises:
        PostgresError: the role may not create databases, and no embedded server can be started.
    """
    url = settings.database_url.replace("postgresql+psycopg://", "postgresql://", 1)
    if may_create_databases(url):
        drop_left_behind(url, now)
        with _database(url, now) as made:
            migration.migrate(made, begin)
            yield made
    else:
        with _server(settings) as own, _database(own, now) as made:
            migration.migrate(made, begin)
            yield made


def may_create_databases(url: str) -> bool:
    """Tell whether the role of ``url`` may create databases."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    return bool(row and row[0])


def drop_left_behind(url: str, now: datetime) -> list[str]:
    """Drop the scratch databases that killed simulations left on the server, and return their names."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(
            """
            SELECT datname FROM pg_database
            WHERE starts_with(datname, %s) AND pg_has_role(datdba, 'MEMBER')
              AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE pg_stat_activity.datname = pg_database.datname)
            """,
            (PREFIX,),
        ).fetchall()
    old = [name for (name,) in found if _is_old(name, now)]
    for name in old:
        embedded_postgres.drop_database(url, name)
    return old


def _is_old(name: str, now: datetime) -> bool:
    made = _NAME.fullmatch(name)
    return made is not None and datetime.fromtimestamp(int(made[1]), UTC) < now - LEFT_BEHIND


@contextmanager
def _database(server_url: str, now: datetime) -> Iterator[str]:
    name = f"{PREFIX}{int(now.timestamp())}_{secrets.token_hex(4)}"
    try:
        embedded_postgres.create_database(server_url, name, "template0")
        yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    finally:
        embedded_postgres.drop_database(server_url, name)


@contextmanager
def _server(settings: Settings) -> Iterator[str]:
    in_memory = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK)
    folder = Path(tempfile.mkdtemp(prefix="treadle-simulation-", dir=_MEMORY if in_memory else None))
    server = EmbeddedPostgres(folder, secrets.token_hex(16), binaries=settings.postgres_bin, durable=False)
    try:
        with server:
            yield server.url("postgres")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
