"""``treadle pools``: the slots that tasks share, and how many are taken."""

from __future__ import annotations

from typing import Final

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Group
from treadle_cli.database import every, in_database
from treadle_cli.files import read_mapping, write_mapping
from treadle_cli.output import Listing, counted, output_option, say, show, show_record
from treadle_cli.owners import require_owner, team_option
from treadle_metadata import audit
from treadle_metadata.queries import pools as questions
from treadle_metadata.resources import pools as resources

_COLUMNS: Final = ("name", "slots", "running", "queued", "scheduled", "deferred", "open", "description")


@click.group(cls=Group, examples=("treadle pools set database 4", "treadle pools list"))
def pools() -> None:
    """Slots that tasks share: a task with pool="database" runs while that pool has a slot free."""


@pools.command("list", examples=("treadle pools list",))
@output_option
def list_(output: str | None) -> None:
    """List the pools with their use; -1 slots means without limit."""
    found = in_database(lambda connection: every(lambda page: questions.list_pools(connection, page)))
    show(Listing(_COLUMNS, found, titles={"name": "pool"}, optional=("description", "deferred")), output)
    for pool in found:
        if pool["warning"]:
            say(f"Warning: {pool['warning']}.")


@pools.command(examples=("treadle pools get default_pool -o json",))
@click.argument("name")
@output_option
def get(name: str, output: str | None) -> None:
    """Show the pool NAME with its use."""
    show_record(in_database(lambda connection: questions.get_pool(connection, name)), output)


@pools.command(
    "set",
    examples=('treadle pools set database 4 "Connections to the warehouse"', "treadle pools set --no-limit files"),
    context_settings={"ignore_unknown_options": True},  # So that -1 is a number.
)
@click.argument("name")
@click.argument("slots", type=click.IntRange(min=-1), required=False)
@click.argument("description", default="")
@click.option("--no-limit", is_flag=True, help="Instead of SLOTS: any number of tasks.")
@click.option("--include-deferred", is_flag=True, help="A deferred task keeps its slots.")
@team_option
def set_(
    name: str, slots: int | None, description: str, no_limit: bool, include_deferred: bool, team_name: str
) -> None:
    """Create the pool NAME with SLOTS slots, or change it; -1 slots are no limit."""
    if slots == resources.UNLIMITED:
        slots, no_limit = None, True
    if (slots is None) != no_limit:
        raise click.UsageError("give either SLOTS or --no-limit")
    number = resources.UNLIMITED if slots is None else slots

    def act(connection: Connection) -> None:
        require_owner(connection, team_name)
        before = resources.export_pools(connection).get(name)
        team = team_name or None
        resources.set_pool(connection, name, number, description, include_deferred=include_deferred, team=team)
        after = resources.export_pools(connection)[name]
        detail = {"team": team_name} if team_name else None
        audit.record(
            connection,
            actor=edge.actor(),
            event="set_pool",
            subject=name,
            before=before,
            after=after,
            detail=detail,
            now=edge.now(),
        )

    in_database(act)
    say(f"Pool {name} has {'no limit' if slots is None else counted(slots, 'slot')}.")


@pools.command(examples=("treadle pools delete database",))
@click.argument("name")
def delete(name: str) -> None:
    """Delete the pool NAME; refused while unfinished tasks need it."""

    def act(connection: Connection) -> None:
        before = resources.export_pools(connection).get(name)
        resources.delete_pool(connection, name)
        audit.record(connection, actor=edge.actor(), event="delete_pool", subject=name, before=before, now=edge.now())

    in_database(act)
    say(f"Pool {name} is deleted.")


@pools.command("import", examples=("treadle pools import pools.json", "treadle pools import - < pools.json"))
@click.argument("file")
def import_(file: str) -> None:
    """Create or change the pools in FILE (JSON or YAML; -: standard input). All or none are taken."""
    content = read_mapping(file)

    def act(connection: Connection) -> list[str]:
        names = resources.import_pools(connection, content)
        audit.record(connection, actor=edge.actor(), event="import_pools", now=edge.now(), detail={"pools": names})
        return names

    say(f"Imported {counted(len(in_database(act)), 'pool')}.")


@pools.command(examples=("treadle pools export pools.json", "treadle pools export -"))
@click.argument("file")
def export(file: str) -> None:
    """Write all pools to FILE (JSON, or YAML by its name; -: standard output)."""
    content = in_database(resources.export_pools)
    write_mapping(file, content)
    say(f"Exported {counted(len(content), 'pool')}.")
