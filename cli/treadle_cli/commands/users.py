"""``treadle users``: the accounts that may log in to the web server."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Group
from treadle_cli.database import in_database
from treadle_cli.output import Listing, counted, output_option, say, show
from treadle_metadata import accounts, audit

_password = click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")


@click.group(cls=Group, examples=("treadle users create ada --role User", "treadle users list"))
def users() -> None:
    """Accounts that may log in. Roles: Member < Viewer < User < Op < Admin, or of your own (treadle roles)."""


@users.command(
    examples=("treadle users create ada --role User", "treadle users create ci --role Op --password-stdin < pw")
)
@click.argument("username")
@click.option(
    "--role", default=accounts.Role.VIEWER.value, show_default=True, help="What it may do everywhere; Member: nothing."
)
@_password
def create(username: str, role: str, password_stdin: bool) -> None:
    """Create the account USERNAME; the password is asked for."""
    password = _read_password(password_stdin)

    def act(connection: Connection) -> None:
        accounts.create_account(connection, username, password, role, now=edge.now())
        _record(connection, "create_user", username, None)

    in_database(act)
    say(f"Account {username} is created, with role {role}.")


@users.command("list", examples=("treadle users list",))
@output_option
def list_(output: str | None) -> None:
    """List the accounts."""
    rows = [asdict(account) for account in in_database(accounts.list_accounts)]
    titles = {"username": "user", "is_active": "active", "last_login_at": "last login"}
    show(Listing(("username", "role", "is_active", "last_login_at"), rows, titles=titles), output)


@users.command("reset-password", examples=("treadle users reset-password admin",))
@click.argument("username")
@_password
def reset_password(username: str, password_stdin: bool) -> None:
    """Give the account USERNAME another password; its logins end."""
    password = _read_password(password_stdin)

    def act(connection: Connection) -> None:
        accounts.change_password(connection, username, password)
        audit.record(connection, actor=edge.actor(), event="reset_password", subject=username, now=edge.now())

    in_database(act)
    say(f"Account {username} has another password.")


@users.command("set-role", examples=("treadle users set-role ada Op",))
@click.argument("username")
@click.argument("role")
def set_role(username: str, role: str) -> None:
    """Give the account USERNAME another ROLE; its logins end."""

    def act(connection: Connection) -> None:
        before = accounts.require_account(connection, username)
        accounts.change_role(connection, username, role)
        _record(connection, "change_role", username, before)

    in_database(act)
    say(f"Account {username} has role {role}.")


@users.command(examples=("treadle users deactivate ada",))
@click.argument("username")
def deactivate(username: str) -> None:
    """Keep the account USERNAME from logging in, until it is activated; its logins end."""
    _set_active(username, active=False)


@users.command(examples=("treadle users activate ada",))
@click.argument("username")
def activate(username: str) -> None:
    """Let the deactivated account USERNAME log in again."""
    _set_active(username, active=True)


@users.command("end-sessions", examples=("treadle users end-sessions ada",))
@click.argument("username")
def end_sessions(username: str) -> None:
    """End every session of the account USERNAME at once; it may log in again, and its tokens stay."""

    def act(connection: Connection) -> int:
        accounts.require_account(connection, username)
        number = accounts.end_sessions(connection, username)
        detail = {"sessions": number}
        audit.record(
            connection, actor=edge.actor(), event="end_sessions", subject=username, detail=detail, now=edge.now()
        )
        return number

    say(f"Ended {counted(in_database(act), 'session')} of account {username}.")


@users.command(examples=("treadle users delete ada",))
@click.argument("username")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def delete(username: str, yes: bool) -> None:
    """Delete the account USERNAME; its logins end."""
    edge.confirm(f"Delete account {username}?", yes=yes)

    def act(connection: Connection) -> None:
        before = accounts.require_account(connection, username)
        accounts.delete_account(connection, username)
        _record(connection, "delete_user", username, before)

    in_database(act)
    say(f"Account {username} is deleted.")


def _set_active(username: str, *, active: bool) -> None:
    def act(connection: Connection) -> None:
        before = accounts.require_account(connection, username)
        accounts.set_active(connection, username, active)
        _record(connection, "activate_user" if active else "deactivate_user", username, before)

    in_database(act)
    say(f"Account {username} {'may log in again' if active else 'may not log in'}.")


def _read_password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\n")
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask for the password on: use --password-stdin")
    return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))


def _record(connection: Connection, event: str, username: str, before: accounts.Account | None) -> None:
    """Record what an account was, and what it is now."""
    after = accounts.find_account(connection, username)
    audit.record(
        connection,
        actor=edge.actor(),
        event=event,
        subject=username,
        before=_facts(before),
        after=_facts(after),
        now=edge.now(),
    )


def _facts(one: accounts.Account | None) -> dict[str, Any] | None:
    return None if one is None else {"role": one.role, "is_active": one.is_active}
