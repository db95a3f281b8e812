"""A place that tasks write to, for benchmarks and tests: a schema whose role cannot read the metadata database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import psycopg
from psycopg import sql

from treadle_metadata.connection import Database
from treadle_metadata.crypto import Crypto
from treadle_metadata.resources import create_connection
from treadle_metadata.settings import Settings


class Target:
    """A schema with a table ``written (number int)``, owned by a role of its own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = f"treadle_target_{uuid4().hex[:12]}"

    def rows(self, statement: LiteralString) -> list[tuple[Any, ...]]:
        """Read from the schema, on a connection of the moment: servers are killed meanwhile."""
        with psycopg.connect(self.url) as connection:
            connection.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(self.name)))
            return connection.execute(statement).fetchall()

    def run(self, *statements: LiteralString) -> None:
        """Run statements as the server's owner; ``{0}`` stands for the name of schema and role."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            for text in statements:
                connection.execute(sql.SQL(text).format(sql.Identifier(self.name)))


@contextmanager
def target(
    database: Database, settings: Settings, conn_id: str = "target", *, one_commit: bool = False
) -> Iterator[Target]:
    """Make a target and store it as connection ``conn_id``; drop it afterwards.

    With ``one_commit`` its role may commit the end of a task together with the task's rows.
    """
    parts = urlsplit(database.url.replace("postgresql+psycopg://", "postgresql://"))
    one = Target(parts.geturl())
    one.run(
        "CREATE ROLE {0} LOGIN PASSWORD 'for tests only'",
        "CREATE SCHEMA {0} AUTHORIZATION {0}",
        "ALTER ROLE {0} SET search_path = {0}",
        "CREATE TABLE {0}.written (number int)",
        "ALTER TABLE {0}.written OWNER TO {0}",
    )
    if one_commit:
        one.run("GRANT EXECUTE ON FUNCTION treadle_commit TO {0}")
    options = parse_qs(parts.query)
    fields = {
        "conn_type": "postgres",
        "host": options.get("host", [parts.hostname or ""])[0],
        "port": parts.port or int(options.get("port", ["5432"])[0]),
        "login": one.name,
        "password": "for tests only",
        "schema": parts.path.lstrip("/"),
    }
    with database.begin() as connection:
        create_connection(connection, conn_id, fields, crypto=Crypto.of_setting(settings.fernet_key))
    try:
        yield one
    finally:
        one.run("DROP SCHEMA {0} CASCADE", "DROP OWNED BY {0}", "DROP ROLE {0}")
