"""``treadle connections``: addresses and credentials of other systems. Passwords and extras are never shown."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Group
from treadle_cli.database import every, in_database
from treadle_cli.errors import CliError
from treadle_cli.files import read_mapping, write_mapping
from treadle_cli.output import Listing, counted, output_option, say, show, show_record
from treadle_cli.owners import require_owner, team_option
from treadle_metadata import audit
from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries import connections as questions
from treadle_metadata.resources import connections as resources

_COLUMNS: Final = (
    "conn_id",
    "conn_type",
    "host",
    "port",
    "schema",
    "login",
    "has_password",
    "has_extra",
    "description",
)
_TITLES: Final = {"conn_id": "connection", "conn_type": "type", "has_password": "password", "has_extra": "extra"}
_SECRETS: Final = ("password", "extra")


@click.group(
    cls=Group,
    examples=(
        "treadle connections set warehouse --uri postgres://loader@db.example.com/dw",
        "treadle connections list",
    ),
)
def connections() -> None:
    """Addresses and credentials of other systems, encrypted at rest; tasks read them by id."""


@connections.command("list", examples=("treadle connections list",))
@output_option
def list_(output: str | None) -> None:
    """List the connections, without their secrets."""
    found = in_database(lambda connection: every(lambda page: questions.list_connections(connection, page)))
    show(Listing(_COLUMNS, found, "No connections.", _TITLES), output)


@connections.command(examples=("treadle connections get warehouse -o yaml",))
@click.argument("conn_id")
@output_option
def get(conn_id: str, output: str | None) -> None:
    """Show the connection CONN_ID, without its secrets."""
    show_record(in_database(lambda connection: questions.get_connection(connection, conn_id)), output)


@connections.command(
    "set",
    examples=(
        "treadle connections set warehouse --type postgres --host db.example.com --login loader --password-stdin < pw",
        "treadle connections set warehouse --uri 'postgres://loader@db.example.com:5432/dw?sslmode=require'",
        "treadle connections set warehouse --port 5433",
    ),
)
@click.argument("conn_id")
@click.option("--uri", help="All fields at once: type://login:password@host:port/schema?extra=value.")
@click.option("--json", "as_json", help="All fields at once, as a JSON object.")
@click.option("--type", "conn_type", help="What kind of system it is, such as postgres or http.")
@click.option("--host", help="Name or address of the machine.")
@click.option("--port", type=click.IntRange(0, 65535), help="Its port, if not the usual one.")
@click.option("--schema", help="Name of the database or path.")
@click.option("--login", help="Name of the account there.")
@click.option("--password", help="Other users of this machine may see it; better: --password-stdin.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@click.option("--extra", help="Further fields as a JSON object.")
@click.option("--description", help="What it is for.")
@team_option
def set_(
    conn_id: str, uri: str | None, as_json: str | None, password_stdin: bool, team_name: str, **fields: Any
) -> None:
    """Create the connection CONN_ID, or change the fields that are given and keep the others.

    --uri and --json replace all fields.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    if password_stdin:
        given["password"] = sys.stdin.readline().rstrip("\n")
    whole = _whole(uri, as_json)
    if not given and whole is None:
        raise click.UsageError("nothing to set: give --uri, --json or a field such as --host")

    def act(connection: Connection) -> None:
        require_owner(connection, team_name)
        before = _stored(connection, conn_id, team_name)
        _write(connection, conn_id, whole, given, team_name)
        fields = sorted({*given, *(whole or {})})
        _record(connection, "set_connection", conn_id, before, _stored(connection, conn_id, team_name), fields=fields)

    in_database(act)
    say(f"Connection {conn_id} is set.")


@connections.command(examples=("treadle connections delete warehouse",))
@click.argument("conn_id")
@team_option
def delete(conn_id: str, team_name: str) -> None:
    """Delete the connection CONN_ID."""

    def act(connection: Connection) -> None:
        before = _stored(connection, conn_id, team_name)
        resources.delete_connection(connection, conn_id, team=team_name)
        _record(connection, "delete_connection", conn_id, before, None)

    in_database(act)
    say(f"Connection {conn_id} is deleted.")


@connections.command("import", examples=("treadle connections import connections.yaml",))
@click.argument("file")
def import_(file: str) -> None:
    """Create or replace the connections in FILE (JSON or YAML; -: standard input). All or none are taken."""
    content = read_mapping(file)

    def act(connection: Connection) -> list[str]:
        ids = resources.import_connections(connection, content, crypto=_crypto())
        detail = {"conn_ids": ids}
        audit.record(connection, actor=edge.actor(), event="import_connections", now=edge.now(), detail=detail)
        return ids

    say(f"Imported {counted(len(in_database(act)), 'connection')}.")


@connections.command(
    examples=("treadle connections export connections.json", "treadle connections export --with-secrets backup.json")
)
@click.argument("file")
@click.option("--with-secrets", is_flag=True, help="Write passwords and extras too, decrypted.")
def export(file: str, with_secrets: bool) -> None:
    """Write all connections to FILE (JSON, or YAML by its name; -: standard output)."""

    def act(connection: Connection) -> dict[str, dict[str, Any]]:
        detail = {"with_secrets": with_secrets}
        audit.record(connection, actor=edge.actor(), event="export_connections", now=edge.now(), detail=detail)
        return resources.export_connections(connection, crypto=_crypto())

    content = in_database(act)
    if not with_secrets:
        content = {
            conn_id: {name: value for name, value in fields.items() if name not in _SECRETS}
            for conn_id, fields in content.items()
        }
    write_mapping(file, content)
    left_out = "" if with_secrets else " without passwords and extras (--with-secrets writes them)"
    say(f"Exported {counted(len(content), 'connection')}{left_out}.")


def _stored(connection: Connection, conn_id: str, team: str) -> dict[str, Any] | None:
    """Return a connection without its secrets, or None."""
    try:
        found = questions.get_connection(connection, conn_id, team=team)
    except NotFoundError:
        return None
    return {name: value for name, value in found.items() if name != "secrets_mark"}


def _record(
    connection: Connection,
    event: str,
    conn_id: str,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    **detail: Any,
) -> None:
    team = (after or before or {}).get("team")
    audit.record(
        connection,
        actor=edge.actor(),
        event=event,
        subject=conn_id,
        before=before,
        after=after,
        detail=detail | ({"team": team} if team else {}),
        now=edge.now(),
    )


def _crypto() -> Crypto:
    return Crypto.of_setting(edge.settings().fernet_key)


def _whole(uri: str | None, as_json: str | None) -> dict[str, Any] | None:
    if uri is not None and as_json is not None:
        raise click.UsageError("give either --uri or --json")
    if uri is not None:
        return resources.fields_of_uri(uri)
    if as_json is None:
        return None
    try:
        content = json.loads(as_json)
    except ValueError:
        # The text may hold a password, so it is not quoted.
        content = None
    if not isinstance(content, dict):
        raise CliError("--json is no JSON object")
    return content


def _write(
    connection: Connection, conn_id: str, whole: dict[str, Any] | None, given: dict[str, Any], team: str
) -> None:
    if whole is not None:
        resources.set_connection(connection, conn_id, whole | given, crypto=_crypto(), team=team)
        return
    try:
        resources.update_connection(connection, conn_id, given, crypto=_crypto(), team=team)
    except NotFoundError:
        resources.create_connection(connection, conn_id, given, crypto=_crypto(), team=team)
