"""Tables for people, drawn by rich. Only this form imports rich."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from treadle_cli.output import Listing, Row, text

STATE_STYLES: Final = {
    "success": "green",
    "running": "cyan",
    "failed": "bold red",
    "upstream_failed": "dark_orange",
    "skipped": "magenta",
    "up_for_retry": "yellow",
    "up_for_reschedule": "yellow",
    "queued": "bright_black",
    "scheduled": "bright_black",
    "deferred": "blue",
    "removed": "bright_black",
    "restarting": "yellow",
}


def write_listing(listing: Listing) -> None:
    """Print a table, as wide as the terminal at most; long cells are folded, never cut."""
    if not listing.rows:
        click.echo(listing.empty, err=True)
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for index, column in enumerate(listing.columns):
        numeric = all(_is_number(row.get(column)) for row in listing.rows)
        table.add_column(
            listing.title(column), justify="right" if numeric else "left", overflow="fold", no_wrap=index == 0
        )
    for row in listing.rows:
        table.add_row(*(_cell(column, row.get(column)) for column in listing.columns))
    Console().print(table)


def write_record(record: Row) -> None:
    """Print two columns: the fields and their values."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in record.items():
        table.add_row(name.replace("_", " "), _cell(name, value))
    Console().print(table)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(column: str, value: Any) -> Text:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return Text(value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ"))
    shown = text(value)
    return Text(shown, style=STATE_STYLES.get(shown, "") if column.endswith("state") else "")
