"""``treadle webserver``."""

from __future__ import annotations

import click

from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.commands.daemons.starting import prepared
from treadle_cli.database import in_database
from treadle_metadata import accounts
from treadle_webserver import main
from treadle_webserver.routes import APPS


@click.command(
    cls=Command,
    examples=(
        "treadle webserver",
        "treadle webserver --host 0.0.0.0 --port 8080",
        "treadle webserver --apps execution",
    ),
)
@click.option("--host", help="Address to listen on; default: the setting host (127.0.0.1).")
@click.option(
    "-p", "--port", type=click.IntRange(0, 65535), help="Port to listen on; default: the setting port (8080)."
)
@click.option(
    "--apps",
    type=click.Choice(["all", *APPS]),
    default="all",
    help="What to serve: the REST API, the Execution API of worker machines, or both (default).",
)
def webserver(host: str | None, port: int | None, apps: str) -> None:
    """Serve the REST API and the Execution API until stopped by Ctrl-C or SIGTERM.

    Where there is no account at all, it makes one, admin, and prints its password once.
    """
    settings = prepared("webserver", host=host, port=port)
    if apps != "execution":
        # Several servers that start at once make one.
        password = in_database(lambda connection: accounts.create_first(connection, now=edge.now()))
        if password is not None:
            click.echo(f"Login: {accounts.FIRST} / {password} (made now and shown once)")
    main.run(settings, apps=tuple(APPS) if apps == "all" else (apps,))
