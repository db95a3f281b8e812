"""A database that tasks write to: beside the metadata database, with a role that cannot read it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import psycopg
from psycopg import sql

from treadle_metadata.connection import Database
from treadle_metadata.crypto import Crypto
from treadle_metadata.resources import create_connection
from treadle_metadata.settings import Settings


@contextmanager
def target(database: Database, settings: Settings, conn_id: str = "target") -> Iterator[psycopg.Connection[Any]]:
    """Make a schema with a table ``written (number int)``, owned by a role of its own; store it as ``conn_id``."""
    name = f"treadle_test_{uuid4().hex[:12]}"
    url = urlsplit(database.url.replace("postgresql+psycopg://", "postgresql://"))
    with psycopg.connect(url.geturl(), autocommit=True) as owner:
        named = sql.Identifier(name)
        for text in (
            "CREATE ROLE {0} LOGIN PASSWORD 'for tests only'",
            "CREATE SCHEMA {0} AUTHORIZATION {0}",
            "ALTER ROLE {0} SET search_path = {0}",
            "CREATE TABLE {0}.written (number int)",
            "ALTER TABLE {0}.written OWNER TO {0}",
        ):
            owner.execute(sql.SQL(text).format(named))
        with database.begin() as connection:
            create_connection(
                connection,
                conn_id,
                {
                    "conn_type": "postgres",
                    "host": parse_qs(url.query).get("host", [url.hostname or ""])[0],
                    "port": url.port or int(parse_qs(url.query).get("port", ["5432"])[0]),
                    "login": name,
                    "password": "for tests only",
                    "schema": url.path.lstrip("/"),
                },
                crypto=Crypto.of_setting(settings.fernet_key),
            )
        owner.execute(sql.SQL("SET search_path = {}").format(named))
        try:
            yield owner
        finally:
            owner.execute("SET search_path = public")
            owner.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(named))
            owner.execute(sql.SQL("DROP ROLE {}").format(named))
