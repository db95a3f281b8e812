"""``treadle roles``: what the roles allow, roles of one's own, and single DAGs for single accounts or teams."""

from __future__ import annotations

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Group
from treadle_cli.database import in_database
from treadle_cli.output import Listing, output_option, say, show
from treadle_metadata import audit
from treadle_metadata.accounts import staying_managed
from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.dags import check_dag
from treadle_metadata.rights import grants as given
from treadle_metadata.rights import roles as stored
from treadle_metadata.rights.permissions import GIVEN, OF_DAGS, OF_TEAMS


@click.group(cls=Group, examples=("treadle roles list", "treadle roles set Auditor read"))
def roles() -> None:
    """Roles that accounts have everywhere or in a team. Five are built in: Member, Viewer, User, Op, Admin."""


@roles.command("list", examples=("treadle roles list", "treadle roles list -o yaml"))
@output_option
def list_(output: str | None) -> None:
    """List the roles with their permissions."""
    rows = [
        {
            "name": one.name,
            "built_in": one.is_built_in,
            "permissions": [held.value for held in one.permissions],
            "description": one.description,
        }
        for one in in_database(stored.list_roles)
    ]
    show(Listing(("name", "built_in", "permissions"), rows, titles={"built_in": "built in"}), output)


@roles.command(examples=("treadle roles permissions",))
@output_option
def permissions(output: str | None) -> None:
    """List the permissions, and of what each can be held: a DAG, a team's things, or all there is."""
    rows = [
        {"name": one.value, "of": "a DAG" if one in OF_DAGS else "a team's things" if one in OF_TEAMS else "all"}
        for one in sorted(GIVEN)
    ]
    show(Listing(("name", "of"), rows), output)


@roles.command("set", examples=("treadle roles set Auditor read", "treadle roles set Runner read-dags trigger-runs"))
@click.argument("name")
@click.argument("permission", nargs=-1, required=True)
@click.option("--description", default="", help="What it is for.")
def set_(name: str, permission: tuple[str, ...], description: str) -> None:
    """Make the role NAME with each PERMISSION (``read``: all that only read), or give it exactly these."""

    def act(connection: Connection) -> list[str]:
        with staying_managed(connection):
            before = stored.set_role(connection, name, permission, description, now=edge.now())
        after = stored.require_role(connection, name)
        audit.record(
            connection,
            actor=edge.actor(),
            event="set_role",
            subject=after.name,
            before=None if before is None else {"permissions": [one.value for one in before.permissions]},
            after={"permissions": [one.value for one in after.permissions]},
            now=edge.now(),
        )
        return [one.value for one in after.permissions]

    say(f"Role {name} may {', '.join(in_database(act))}.")


@roles.command(examples=("treadle roles delete Auditor",))
@click.argument("name")
def delete(name: str) -> None:
    """Delete the role NAME, which nobody may have."""

    def act(connection: Connection) -> None:
        gone = stored.delete_role(connection, name)
        before = {"permissions": [one.value for one in gone.permissions]}
        audit.record(
            connection, actor=edge.actor(), event="delete_role", subject=gone.name, before=before, now=edge.now()
        )

    in_database(act)
    say(f"Role {name} is deleted.")


@roles.command(examples=("treadle roles grants", "treadle roles grants daily_sales"))
@click.argument("dag_id", required=False)
@output_option
def grants(dag_id: str | None, output: str | None) -> None:
    """List the grants, of the DAG DAG_ID or of all."""
    rows = [
        {
            "dag_id": one.dag_id,
            "user": one.holder.username,
            "team": one.holder.team,
            "permissions": [held.value for held in one.permissions],
        }
        for one in in_database(lambda connection: given.list_grants(connection, dag_id))
    ]
    titles = {"dag_id": "dag"}
    show(Listing(("dag_id", "user", "team", "permissions"), rows, "There are no grants.", titles), output)


@roles.command(
    examples=(
        "treadle roles grant daily_sales read-dags read-logs --user ann",
        "treadle roles grant daily_sales --team web",
    ),
)
@click.argument("dag_id")
@click.argument("permission", nargs=-1)
@click.option("--user", "username", help="The account that it is for.")
@click.option("--team", help="The team whose members it is for.")
def grant(dag_id: str, permission: tuple[str, ...], username: str | None, team: str | None) -> None:
    """Allow exactly each PERMISSION with the DAG DAG_ID; none at all takes the grant away."""
    holder = given.Holder(username, team)

    def act(connection: Connection) -> tuple[list[str], str | None]:
        before = given.set_grant(connection, dag_id, holder, permission, now=edge.now())
        found = [one for one in given.list_grants(connection, dag_id) if one.holder == holder]
        after = [held.value for held in found[0].permissions] if found else []
        audit.record(
            connection,
            actor=edge.actor(),
            event="set_grant",
            dag_id=dag_id,
            subject=str(holder),
            before={"permissions": [one.value for one in before]},
            after={"permissions": after},
            now=edge.now(),
        )
        return after, _missing(connection, dag_id) if after else None

    after, missing = in_database(act)
    if missing:
        say(f"Warning: {missing}. The grant holds once there is such a DAG.")
    may = ", ".join(after)
    say(f"{str(holder).capitalize()} may {may} of {dag_id}." if may else f"The grant of {dag_id} is taken away.")


def _missing(connection: Connection, dag_id: str) -> str | None:
    """Return that there is no such DAG, if so: a grant may come before its DAG, or have a slip in its name."""
    try:
        check_dag(connection, dag_id)
    except NotFoundError as error:
        return str(error)
    return None
