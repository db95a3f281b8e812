"""``treadle callbacks logs``."""

from __future__ import annotations

import click

from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.commands.tasks.logs import print_lines
from treadle_cli.database import in_database
from treadle_cli.output import say
from treadle_metadata.queries import logs as questions
from treadle_metadata.queries.callbacks import get_callback
from treadle_metadata.remote_logs.places import places_of


@click.command(cls=Command, examples=("treadle callbacks logs 17",))
@click.argument("callback_id", type=click.IntRange(min=1))
@click.option("--raw", is_flag=True, help="Print the JSON lines as they are stored.")
def logs(callback_id: int, raw: bool) -> None:
    """Print the log of the callback CALLBACK_ID (`treadle callbacks list` shows the numbers)."""
    found = in_database(lambda connection: get_callback(connection, callback_id))
    if found["log_path"] is None:
        say(f"callback {callback_id} was not handed over yet: it is {found['state']}")
        return
    path = places_of(edge.settings()).find(found["log_path"], found["month"])
    print_lines(questions.iterate(path), raw=raw)
    if found["error"]:
        say(f"it failed: {found['error']['message']}")
