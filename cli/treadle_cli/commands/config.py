"""``treadle config``: the settings, where each comes from, secrets never shown."""

from __future__ import annotations

import base64
import difflib
import os
import tomllib
from collections.abc import Iterator
from dataclasses import Field, fields
from typing import Any

import click

from treadle_cli import edge
from treadle_cli.clicks import Group
from treadle_cli.output import Listing, output_option, show, text
from treadle_metadata.settings import Settings

MASK = "***"


@click.group(cls=Group, examples=("treadle config list", "treadle config get dags_folder"))
def config() -> None:
    """Show settings. They are read from TREADLE_<NAME>, treadle.toml and secrets.toml in the home folder."""


@config.command("list", examples=("treadle config list", "treadle config list --changed -o json"))
@click.option("--changed", is_flag=True, help="Only settings that do not have their default.")
@output_option
def list_(changed: bool, output: str | None) -> None:
    """List all settings with value, source and meaning."""
    rows = [row for row in _rows(edge.settings()) if not changed or row["source"] != "default"]
    show(Listing(("name", "value", "source", "help"), rows, "Every setting has its default."), output)


@config.command(examples=("treadle config get dags_folder",))
@click.argument("name")
def get(name: str) -> None:
    """Print the value of the setting NAME."""
    found = {row["name"]: row["value"] for row in _rows(edge.settings())}
    if name not in found:
        close = difflib.get_close_matches(name, found, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "; `treadle config list` shows all"
        raise click.UsageError(f"there is no setting {name!r}{hint}")
    click.echo(text(found[name]))


@config.command("new-key", examples=("treadle config new-key",))
def new_key() -> None:
    """Print a fresh key for fernet_key. To change keys, put it before the old ones, with a comma."""
    # Fernet needs 32 random bytes in URL-safe base64; importing its package to make them costs more than the command.
    click.echo(base64.urlsafe_b64encode(os.urandom(32)).decode())


def _rows(settings: Settings) -> Iterator[dict[str, Any]]:
    files = [(name, _names_in(settings, name)) for name in ("treadle.toml", "secrets.toml")]
    for one in fields(settings):
        yield {
            "name": one.name,
            "value": _shown(one, settings),
            "source": _source(one.name, files),
            "environment": f"TREADLE_{one.name.upper()}",
            "help": one.metadata.get("help", ""),
        }


def _shown(one: Field[Any], settings: Settings) -> Any:
    value = getattr(settings, one.name)
    if one.metadata.get("secret") and value:
        return MASK
    return value if isinstance(value, bool | int | float) else str(value)


def _source(name: str, files: list[tuple[str, set[str]]]) -> str:
    if f"TREADLE_{name.upper()}" in os.environ:
        return "environment"
    return next((file for file, names in files if name in names), "default")


def _names_in(settings: Settings, file: str) -> set[str]:
    path = settings.home.expanduser() / file
    return set(tomllib.loads(path.read_text())) if path.exists() else set()
