"""``treadle tokens``: API tokens of programs."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Group
from treadle_cli.database import in_database
from treadle_cli.output import Listing, output_option, say, show
from treadle_metadata import audit
from treadle_metadata.accounts import require_account
from treadle_metadata.rights import credentials


@click.group(
    cls=Group, examples=("treadle tokens create ci deploy --scope read --scope trigger-runs", "treadle tokens list")
)
def tokens() -> None:
    """Tokens that programs use for an account, until they expire or are deleted."""


@tokens.command(examples=("treadle tokens create ci deploy --scope read --scope trigger-runs --days 30",))
@click.argument("username")
@click.argument("name")
@click.option("--scope", multiple=True, help="A permission that it may be used for, or read; default: all of them.")
@click.option(
    "--days",
    type=click.IntRange(1, credentials.LONGEST_LIFE.days),
    default=credentials.USUAL_LIFE.days,
    show_default=True,
    help="When it expires.",
)
def create(username: str, name: str, scope: tuple[str, ...], days: int) -> None:
    """Make the token NAME of the account USERNAME, and print it: it is shown once and kept nowhere."""

    def act(connection: Connection) -> str:
        require_account(connection, username)
        scopes = list(scope) or None
        lifetime = timedelta(days=days)
        _, secret = credentials.create_token(connection, username, name, scopes, lifetime=lifetime, now=edge.now())
        detail = {"of": username, "scopes": scopes, "days": days}
        audit.record(connection, actor=edge.actor(), event="create_token", subject=name, detail=detail, now=edge.now())
        return secret

    click.echo(in_database(act))


@tokens.command("list", examples=("treadle tokens list", "treadle tokens list ci"))
@click.argument("username", required=False)
@output_option
def list_(username: str | None, output: str | None) -> None:
    """List the tokens, of the account USERNAME or of all."""
    rows = [dict(row) for row in in_database(lambda connection: credentials.list_tokens(connection, username))]
    columns = ("username", "name", "scopes", "expires_at", "last_used_at", "id")
    titles = {"username": "user", "expires_at": "expires", "last_used_at": "last used"}
    show(Listing(columns, rows, "There are no tokens.", titles, ("last_used_at",)), output)


@tokens.command(examples=("treadle tokens delete 0b1c9a52-5a1c-4a53-8d0f-5f0b6a2f7c11",))
@click.argument("token_id", type=click.UUID)
def delete(token_id: UUID) -> None:
    """Delete the token with the id TOKEN_ID: it is void at once."""

    def act(connection: Connection) -> str:
        gone = credentials.delete_token(connection, token_id)
        audit.record(
            connection,
            actor=edge.actor(),
            event="delete_token",
            subject=gone["name"],
            detail={"of": gone["username"]},
            now=edge.now(),
        )
        return f"{gone['name']} of {gone['username']}"

    say(f"Token {in_database(act)} is deleted.")
