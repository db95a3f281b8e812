"""``treadle version``."""

from __future__ import annotations

import click

from treadle.version import __version__
from treadle_cli.clicks import Command


@click.command(cls=Command, examples=("treadle version",))
def version() -> None:
    """Print the version of Treadle."""
    click.echo(__version__)
