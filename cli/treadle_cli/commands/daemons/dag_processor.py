"""``treadle dag-processor``."""

from __future__ import annotations

import click

from treadle_cli.clicks import Command
from treadle_cli.commands.daemons.starting import prepared
from treadle_scheduler.parsing import main


@click.command("dag-processor", cls=Command, examples=("treadle dag-processor",))
def dag_processor() -> None:
    """Read the DAG files, and each again when it changes, until stopped by Ctrl-C or SIGTERM."""
    main.run(prepared("dag-processor"))
