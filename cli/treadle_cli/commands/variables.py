"""``treadle variables``: values that tasks read by key. They are encrypted at rest, so ``list`` shows keys only."""

from __future__ import annotations

import json
import sys
from typing import Any

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Group
from treadle_cli.database import every, in_database
from treadle_cli.errors import CliError
from treadle_cli.files import STANDARD, read_mapping, write_mapping
from treadle_cli.output import Listing, counted, output_option, say, show
from treadle_cli.owners import require_owner, team_option
from treadle_metadata import audit
from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.variables import list_variables
from treadle_metadata.resources import variables as resources


@click.group(cls=Group, examples=("treadle variables set threshold 0.9", "treadle variables get threshold"))
def variables() -> None:
    """Values that tasks read by key: Variable.get("threshold") or {{ var.value.threshold }}."""


@variables.command("list", examples=("treadle variables list", "treadle variables list --show-values -o json"))
@click.option("--show-values", is_flag=True, help="Decrypt and show the values too.")
@output_option
def list_(show_values: bool, output: str | None) -> None:
    """List the keys of all variables."""

    def act(connection: Connection) -> list[dict[str, Any]]:
        found = every(lambda page: list_variables(connection, page))
        crypto = _crypto() if show_values else None
        return [_row(row, crypto) for row in found]

    columns = ("key", "value", "description") if show_values else ("key", "description")
    show(Listing(columns, in_database(act), "No variables."), output)


@variables.command(examples=("treadle variables get threshold", "treadle variables get limits --json"))
@click.argument("key")
@click.option("-j", "--json", "as_json", is_flag=True, help="Read the value as JSON and print it indented.")
@click.option("-d", "--default", help="Print this if there is no such variable.")
def get(key: str, as_json: bool, default: str | None) -> None:
    """Print the value of the variable KEY."""
    try:
        value: str = in_database(lambda connection: resources.require_variable(connection, key, crypto=_crypto()))[
            "value"
        ]
    except NotFoundError:
        if default is None:
            raise
        value = default
    click.echo(json.dumps(_parsed(key, value), indent=2, ensure_ascii=False) if as_json else value)


@variables.command(
    "set",
    examples=(
        "treadle variables set threshold 0.9 --description 'Least share of valid rows'",
        "treadle variables set token - < token.txt",
    ),
)
@click.argument("key")
@click.argument("value")
@click.option("--description", help="What it is for; kept as it was if not given.")
@click.option("-j", "--json", "as_json", is_flag=True, help="Refuse a VALUE that is not JSON.")
@team_option
def set_(key: str, value: str, description: str | None, as_json: bool, team_name: str) -> None:
    """Create the variable KEY with VALUE (-: read from standard input), or change it."""
    text = sys.stdin.read().rstrip("\n") if value == STANDARD else value
    if as_json:
        _parsed(key, text)

    def act(connection: Connection) -> None:
        require_owner(connection, team_name)
        before = _stored(connection, key, team_name)
        resources.set_variable(connection, key, text, description, crypto=_crypto(), team=team_name)
        _record(connection, "set_variable", key, team_name, before, _stored(connection, key, team_name))

    in_database(act)
    say(f"Variable {key} is set.")


@variables.command(examples=("treadle variables delete threshold",))
@click.argument("key")
@team_option
def delete(key: str, team_name: str) -> None:
    """Delete the variable KEY."""

    def act(connection: Connection) -> None:
        before = resources.require_variable(connection, key, crypto=_crypto(), team=team_name)
        resources.delete_variable(connection, key, team=team_name)
        _record(connection, "delete_variable", key, team_name, before, None)

    in_database(act)
    say(f"Variable {key} is deleted.")


@variables.command(
    "import", examples=("treadle variables import variables.json", "treadle variables import - < variables.json")
)
@click.argument("file")
def import_(file: str) -> None:
    """Create or change the variables in FILE (JSON or YAML; -: standard input). All or none are taken."""
    content = read_mapping(file)

    def act(connection: Connection) -> list[str]:
        keys = resources.import_variables(connection, content, crypto=_crypto())
        audit.record(connection, actor=edge.actor(), event="import_variables", now=edge.now(), detail={"keys": keys})
        return keys

    say(f"Imported {counted(len(in_database(act)), 'variable')}.")


@variables.command(examples=("treadle variables export variables.json", "treadle variables export -"))
@click.argument("file")
def export(file: str) -> None:
    """Write all variables, decrypted, to FILE (JSON, or YAML by its name; -: standard output)."""

    def act(connection: Connection) -> dict[str, Any]:
        audit.record(connection, actor=edge.actor(), event="export_variables", now=edge.now())
        return resources.export_variables(connection, crypto=_crypto())

    content = in_database(act)
    write_mapping(file, content)
    say(f"Exported {counted(len(content), 'variable')}.")


def _stored(connection: Connection, key: str, team: str) -> dict[str, Any] | None:
    try:
        return resources.require_variable(connection, key, crypto=_crypto(), team=team)
    except NotFoundError:
        return None


def _record(
    connection: Connection,
    event: str,
    key: str,
    team: str,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    """Record a change without the values, only that they differ."""
    differs = before is not None and after is not None and before["value"] != after["value"]
    told = [
        None if one is None else {"value": audit.MASK, "description": one["description"]} for one in (before, after)
    ]
    if told[1] is not None and differs:
        told[1]["value"] = f"{audit.MASK} (changed)"
    audit.record(
        connection,
        actor=edge.actor(),
        event=event,
        subject=key,
        before=told[0],
        after=told[1],
        detail={"team": team} if team else None,
        now=edge.now(),
    )


def _crypto() -> Crypto:
    return Crypto.of_setting(edge.settings().fernet_key)


def _row(row: dict[str, Any], crypto: Crypto | None) -> dict[str, Any]:
    shown = {"key": row["key"], "team": row["team"] or None, "description": row["description"]}
    return shown | ({"value": crypto.decrypt(row["value"], f"variable {row['key']!r}")} if crypto else {})


def _parsed(key: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise CliError(f"the value of variable {key!r} is not JSON: {error}") from error
