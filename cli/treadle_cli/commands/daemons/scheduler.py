"""``treadle scheduler``."""

from __future__ import annotations

import click

from treadle_cli.clicks import Command
from treadle_cli.commands.daemons.starting import prepared
from treadle_scheduler import main


@click.command(cls=Command, examples=("treadle scheduler",))
def scheduler() -> None:
    """Make and start runs, and run their tasks with the executors, until stopped by Ctrl-C or SIGTERM.

    Any number may run at a time, on any machines.
    """
    main.run(prepared("scheduler"))
