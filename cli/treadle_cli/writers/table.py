"""Tables for people, drawn by rich. Only this form imports rich."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from treadle_cli.output import Listing, Row, text

_UNLIMITED: Final = 10_000
_LEAST_WIDTH: Final = 12

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
    console = Console()
    columns = list(listing.columns)
    table = _table(listing, columns)
    # Measured without a limit: how wide the table would like to be.
    unlimited = console.options.update(width=_UNLIMITED)
    for column in listing.optional:
        if Measurement.get(console, unlimited, table).maximum <= console.width:
            break
        columns.remove(column)
        table = _table(listing, columns)
    console.print(table)
    left_out = [listing.title(column) for column in listing.columns if column not in columns]
    if left_out:
        click.echo(f"left out for want of width: {', '.join(left_out)}; -o plain shows all", err=True)


def _table(listing: Listing, columns: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for column in columns:
        values = [row.get(column) for row in listing.rows]
        numeric = all(value is None or _is_number(value) for value in values) and any(map(_is_number, values))
        # A folded instant or state is hard to read; names and texts give way first.
        whole = numeric or column.endswith("state") or any(isinstance(value, datetime) for value in values)
        longest = max(len(text(value)) for value in values)
        table.add_column(
            listing.title(column),
            justify="right" if numeric else "left",
            overflow="fold",
            no_wrap=whole,
            min_width=min(longest, _LEAST_WIDTH),
        )
    for row in listing.rows:
        table.add_row(*(_cell(column, row.get(column)) for column in columns))
    return table


def write_record(record: Row) -> None:
    """Print two columns: the fields that have a value, and their values."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in ((name, value) for name, value in record.items() if value not in (None, "", [], (), {})):
        table.add_row(name.replace("_", " "), _cell(name, value))
    Console().print(table)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(column: str, value: Any) -> Text:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return Text(value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ"))
    shown = text(value)
    return Text(shown, style=STATE_STYLES.get(shown, "") if column.endswith("state") else "")
