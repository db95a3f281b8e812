"""Plain text for scripts: a line of column names, then one row a line, cells separated by tabs.

A tab, line break or backslash within a value is written as ``\\t``, ``\\n`` or ``\\\\``, so that lines and cells can
be counted on.
"""

from __future__ import annotations

from typing import Final

import click

from treadle_cli.output import Listing, Row, say, text

_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def write_listing(listing: Listing) -> None:
    """Print the column names and the rows; that there are none is told on standard error, too."""
    click.echo("\t".join(listing.columns))
    for row in listing.rows:
        click.echo("\t".join(text(row.get(column)).translate(_ESCAPES) for column in listing.columns))
    if not listing.rows:
        say(listing.empty)


def write_record(record: Row) -> None:
    """Print a line for each field: name, tab, value."""
    for name, value in record.items():
        click.echo(f"{name}\t{text(value).translate(_ESCAPES)}")
