"""``treadle standalone``."""

from __future__ import annotations

import click

from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.standalone import main


@click.command(cls=Command, examples=("treadle standalone", "TREADLE_HOME=/srv/treadle treadle standalone --port 9000"))
@click.option("--host", help="Address of the web server; default: the setting host (127.0.0.1).")
@click.option(
    "-p", "--port", type=click.IntRange(0, 65535), help="Port of the web server; default: the setting port (8080)."
)
def standalone(host: str | None, port: int | None) -> None:
    """Run database, scheduler, DAG processor, triggerer and web server on this machine, until Ctrl-C.

    All data are in the home folder (TREADLE_HOME, default ~/.treadle).
    """
    settings = edge.settings(host=host, port=port)
    main.run(settings, settings.host, settings.port)
