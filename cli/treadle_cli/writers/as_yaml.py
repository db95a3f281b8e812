"""YAML: a list of mappings, or one mapping."""

from __future__ import annotations

import click
import yaml

from treadle_cli.output import Listing, Row, plain


def write_listing(listing: Listing) -> None:
    """Print a YAML sequence."""
    _write([plain(row) for row in listing.rows])


def write_record(record: Row) -> None:
    """Print a YAML mapping."""
    _write(plain(record))


def _write(value: object) -> None:
    click.echo(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), nl=False)
