"""``treadle runs``: its commands, found when they are called."""

from __future__ import annotations

from typing import Final

import click

from treadle_cli.clicks import Entry, LazyGroup

_HERE: Final = "treadle_cli.commands.runs"

COMMANDS: Final = {
    "mark": Entry(f"{_HERE}.mark:mark", "Set the state of a run by hand."),
    "delete": Entry(f"{_HERE}.delete:delete", "Delete a run with its history."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    examples=("treadle runs mark daily_sales 2026-03-01 failed --dry-run", "treadle runs delete daily_sales r1"),
)
def runs() -> None:
    """Set the state of runs, delete them; `treadle dags list-runs` lists them."""
