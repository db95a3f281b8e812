"""``treadle callbacks``: its commands, found when they are called."""

from __future__ import annotations

from typing import Final

import click

from treadle_cli.clicks import Entry, LazyGroup

_HERE: Final = "treadle_cli.commands.callbacks"

COMMANDS: Final = {
    "list": Entry(f"{_HERE}.listing:list_", "What was called, and how it ended."),
    "logs": Entry(f"{_HERE}.logs:logs", "The log of one."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    examples=("treadle callbacks list daily_sales --state failed", "treadle callbacks logs 17"),
)
def callbacks() -> None:
    """What the server has called: at the end of runs, of killed attempts, of missed deadlines."""
