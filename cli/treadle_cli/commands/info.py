"""``treadle info``: what one needs to know of an installation to help its owner, secrets left out."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

import click
from sqlalchemy import Connection

from treadle.version import __version__
from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.database import database_url, in_database, place
from treadle_cli.errors import CliError
from treadle_cli.output import output_option, show_record
from treadle_metadata import migration, processes
from treadle_metadata.settings import Settings
from treadle_metadata.statements import tuples


@click.command(cls=Command, examples=("treadle info", "treadle info -o json"))
@output_option
def info(output: str | None) -> None:
    """Show the installation: versions, folders, database, daemons."""
    settings = edge.settings()
    record = {
        "version": __version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} processors",
        "home": str(settings.home.expanduser()),
        "dags_folder": str(settings.path("dags_folder")),
        "logs_folder": str(settings.path("logs_folder")),
        "executor": settings.executor,
        "timezone": settings.timezone,
    }
    show_record(record | _database(settings), output)


def _database(settings: Settings) -> dict[str, Any]:
    try:
        return {"database": place(database_url(settings))} | in_database(_asked)
    except CliError as error:
        return {"database": str(error)}


def _asked(connection: Connection) -> dict[str, Any]:
    ((server,),) = tuples(connection, "SHOW server_version")
    schema = migration.current(connection)
    found: dict[str, Any] = {"server": f"PostgreSQL {server}", "schema": schema}
    if schema == migration.head():
        alive = processes.alive(connection, edge.now())
        found["daemons"] = [f"{one.kind} (pid {one.pid} on {one.hostname})" for one in alive]
    return found
