"""``treadle tasks``: its commands, found when they are called."""

from __future__ import annotations

from typing import Final

import click

from treadle_cli.clicks import Entry, LazyGroup

_HERE: Final = "treadle_cli.commands.tasks"

COMMANDS: Final = {
    "list": Entry(f"{_HERE}.listing:list_", "The tasks of a DAG."),
    "states": Entry(f"{_HERE}.listing:states", "The task instances of a run and their states."),
    "why": Entry(f"{_HERE}.why:why", "Why a task is not running, in one line."),
    "logs": Entry(f"{_HERE}.logs:logs", "The log of a task; --follow it while it runs."),
    "clear": Entry(f"{_HERE}.clear:clear", "Let tasks run again."),
    "mark": Entry(f"{_HERE}.mark:mark", "Set the state of task instances by hand."),
    "code": Entry(f"{_HERE}.code:code", "The source text that an attempt ran."),
    "test": Entry(f"{_HERE}.test:test", "Run one task in this process, without a server."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    examples=("treadle tasks states daily_sales", "treadle tasks logs daily_sales load --follow"),
)
def tasks() -> None:
    """List, test and clear tasks; read their logs."""
