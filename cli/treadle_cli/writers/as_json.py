"""JSON: a list of objects, or one object; keys as the REST API names them."""

from __future__ import annotations

import json

import click

from treadle_cli.output import Listing, Row, plain


def write_listing(listing: Listing) -> None:
    """Print a JSON array."""
    click.echo(json.dumps([plain(row) for row in listing.rows], indent=2, ensure_ascii=False))


def write_record(record: Row) -> None:
    """Print a JSON object."""
    click.echo(json.dumps(plain(record), indent=2, ensure_ascii=False))
