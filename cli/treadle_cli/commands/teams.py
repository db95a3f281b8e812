"""``treadle teams``: who belongs to them, and the folders of DAG files that are theirs."""

from __future__ import annotations

from typing import Any

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Group
from treadle_cli.database import in_database
from treadle_cli.output import Listing, output_option, say, show
from treadle_metadata import audit
from treadle_metadata.rights import teams as stored


@click.group(cls=Group, examples=("treadle teams create data data", "treadle teams add data ann --role Op"))
def teams() -> None:
    """Teams own the DAGs in their folders, and pools, variables and connections that no other team sees."""


@teams.command("list", examples=("treadle teams list",))
@output_option
def list_(output: str | None) -> None:
    """List the teams with their folders and members."""
    rows = [
        {
            "name": one.name,
            "folders": list(one.folders),
            "members": [f"{username} ({role})" for username, role in sorted(one.members.items())],
            "description": one.description,
        }
        for one in in_database(stored.list_teams)
    ]
    show(Listing(("name", "folders", "members"), rows, "There are no teams."), output)


@teams.command(examples=("treadle teams create data data", "treadle teams create web web shop/web"))
@click.argument("name")
@click.argument("folder", nargs=-1)
@click.option("--description", default="", help="What it is about.")
def create(name: str, folder: tuple[str, ...], description: str) -> None:
    """Make the team NAME; the DAGs in each FOLDER of the dags folder are its."""

    def act(connection: Connection) -> None:
        stored.create_team(connection, name, folder, description, now=edge.now())
        _record(connection, "create_team", name, None, {"folders": sorted(folder)})

    in_database(act)
    say(f"Team {name} is made.")


@teams.command("set-folders", examples=("treadle teams set-folders data data reports/data",))
@click.argument("name")
@click.argument("folder", nargs=-1)
def set_folders(name: str, folder: tuple[str, ...]) -> None:
    """Let the team NAME own exactly each FOLDER; the DAGs in them change hands at once."""

    def act(connection: Connection) -> None:
        before = {"folders": list(stored.require_team(connection, name).folders)}
        stored.set_folders(connection, name, folder, now=edge.now())
        after = {"folders": list(stored.require_team(connection, name).folders)}
        _record(connection, "patch_team", name, before, after)

    in_database(act)
    say(f"Team {name} owns {', '.join(folder) or 'no folder'}.")


@teams.command(examples=("treadle teams add data ann", "treadle teams add data ann --role Op"))
@click.argument("name")
@click.argument("username")
@click.option("--role", default="User", show_default=True, help="What it may do with what is the team's.")
def add(name: str, username: str, role: str) -> None:
    """Let the account USERNAME have a role in the team NAME, or another one."""

    def act(connection: Connection) -> None:
        before = stored.set_member(connection, name, username, role)
        _record(connection, "set_team_member", name, {username: before}, {username: role})

    in_database(act)
    say(f"{username} is {role} in team {name}.")


@teams.command(examples=("treadle teams remove data ann",))
@click.argument("name")
@click.argument("username")
def remove(name: str, username: str) -> None:
    """Take the account USERNAME out of the team NAME."""

    def act(connection: Connection) -> None:
        before = stored.remove_member(connection, name, username)
        _record(connection, "delete_team_member", name, {username: before}, {username: None})

    in_database(act)
    say(f"{username} is no more in team {name}.")


@teams.command(examples=("treadle teams delete data",))
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def delete(name: str, yes: bool) -> None:
    """Delete the team NAME; its DAGs stay, and belong to nobody."""
    edge.confirm(f"Delete team {name}?", yes=yes)

    def act(connection: Connection) -> None:
        gone = stored.delete_team(connection, name, now=edge.now())
        _record(connection, "delete_team", name, {"folders": list(gone.folders)}, None)

    in_database(act)
    say(f"Team {name} is deleted.")


def _record(
    connection: Connection, event: str, name: str, before: dict[str, Any] | None, after: dict[str, Any] | None
) -> None:
    audit.record(connection, actor=edge.actor(), event=event, subject=name, before=before, after=after, now=edge.now())
