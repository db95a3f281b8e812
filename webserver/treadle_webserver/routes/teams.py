"""Teams, their folders and their members: for those who may manage accounts."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import Field

from treadle_metadata import audit
from treadle_metadata.accounts import Role
from treadle_metadata.rights import teams
from treadle_webserver.authorize import ActorOf
from treadle_webserver.parameters import StrictBody
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.rights import TeamListShape, TeamShape, team_shape

router = APIRouter(prefix="/auth/teams", tags=["Accounts"], route_class=RetriedRoute)

TeamName = Annotated[str, Path(min_length=1, max_length=250)]
Username = Annotated[str, Path(min_length=1, max_length=250)]
Folders = Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=1000)]
Description = Annotated[str, Field(max_length=1000)]


class TeamBody(StrictBody):
    """A team to make. ``folders`` are relative to the dags folder: every DAG in them is the team's."""

    name: str = Field(min_length=1, max_length=250)
    description: Description = ""
    folders: Folders = []


class TeamPatch(StrictBody):
    """What can be changed of a team."""

    description: Description | None = None
    folders: Folders | None = None


class MemberBody(StrictBody):
    """What a member may do with what is the team's."""

    role: str = Field(Role.USER, max_length=250)


@router.get("")
def list_teams(service: ServiceOf) -> TeamListShape:
    """List the teams by name."""
    with service.database.begin() as connection:
        found = teams.list_teams(connection)
    return {"teams": [team_shape(one) for one in found], "total_entries": len(found)}


@router.post("", status_code=201)
def create_team(body: TeamBody, actor: ActorOf, service: ServiceOf) -> TeamShape:
    """Make a team."""
    with service.database.begin() as connection:
        teams.create_team(connection, body.name, body.folders, body.description, now=service.now())
        made = teams.require_team(connection, body.name)
        audit.record(
            connection,
            actor=actor.username,
            event="create_team",
            subject=made.name,
            after=_facts(made),
            now=service.now(),
        )
        return team_shape(made)


@router.patch("/{team_name}")
def patch_team(team_name: TeamName, body: TeamPatch, actor: ActorOf, service: ServiceOf) -> TeamShape:
    """Change a team's description or folders; the DAGs in them change hands at once."""
    with service.database.begin() as connection:
        before = teams.require_team(connection, team_name)
        if body.description is not None:
            teams.describe_team(connection, team_name, body.description)
        if body.folders is not None:
            teams.set_folders(connection, team_name, body.folders, now=service.now())
        after = teams.require_team(connection, team_name)
        audit.record(
            connection,
            actor=actor.username,
            event="patch_team",
            subject=team_name,
            before=_facts(before),
            after=_facts(after),
            now=service.now(),
        )
        return team_shape(after)


@router.delete("/{team_name}", status_code=204, response_class=Response)
def delete_team(team_name: TeamName, actor: ActorOf, service: ServiceOf) -> None:
    """Delete a team that has no pool, variable or connection left."""
    with service.database.begin() as connection:
        gone = teams.delete_team(connection, team_name, now=service.now())
        audit.record(
            connection,
            actor=actor.username,
            event="delete_team",
            subject=team_name,
            before=_facts(gone),
            now=service.now(),
        )


@router.put("/{team_name}/members/{username}")
def put_member(
    team_name: TeamName, username: Username, body: MemberBody, actor: ActorOf, service: ServiceOf
) -> TeamShape:
    """Let an account have a role in a team, from its next request on."""
    with service.database.begin() as connection:
        before = teams.set_member(connection, team_name, username, body.role)
        after = teams.require_team(connection, team_name)
        audit.record(
            connection,
            actor=actor.username,
            event="set_team_member",
            subject=team_name,
            before={username: before},
            after={username: after.members[username]},
            now=service.now(),
        )
        return team_shape(after)


@router.delete("/{team_name}/members/{username}", status_code=204, response_class=Response)
def delete_member(team_name: TeamName, username: Username, actor: ActorOf, service: ServiceOf) -> None:
    """Take an account out of a team, from its next request on."""
    with service.database.begin() as connection:
        role = teams.remove_member(connection, team_name, username)
        audit.record(
            connection,
            actor=actor.username,
            event="delete_team_member",
            subject=team_name,
            before={username: role},
            after={username: None},
            now=service.now(),
        )


def _facts(one: teams.Team) -> dict[str, Any]:
    return {"description": one.description, "folders": list(one.folders)}
