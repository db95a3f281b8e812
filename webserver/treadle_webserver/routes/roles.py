"""Roles of one's own, and grants of single DAGs: for those who may manage accounts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from treadle_metadata import audit
from treadle_metadata.accounts import staying_managed
from treadle_metadata.rights import grants, roles
from treadle_metadata.rights.permissions import Permission
from treadle_webserver.authorize import ActorOf
from treadle_webserver.parameters import StrictBody, Text
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.rights import (
    GrantListShape,
    GrantShape,
    RoleListShape,
    RoleShape,
    grant_shape,
    role_shape,
)

router = APIRouter(prefix="/auth", tags=["Accounts"], route_class=RetriedRoute)

RoleName = Annotated[str, Path(min_length=1, max_length=250)]
Permissions = Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=100)]


class RoleBody(StrictBody):
    """What a role allows; ``read`` stands for every permission that only reads."""

    permissions: Permissions
    description: str = Field("", max_length=1000)


class GrantBody(StrictBody):
    """What one account, or each member of one team, may do with one DAG; no permission takes the grant away."""

    dag_id: str = Field(min_length=1, max_length=250)
    username: Text = None
    team: Text = None
    permissions: Permissions


@router.get("/roles")
def list_roles(service: ServiceOf) -> RoleListShape:
    """List the roles: the built-in ones first."""
    with service.database.begin() as connection:
        found = roles.list_roles(connection)
    return {"roles": [role_shape(one) for one in found], "total_entries": len(found)}


@router.put("/roles/{role_name}")
def put_role(role_name: RoleName, body: RoleBody, actor: ActorOf, service: ServiceOf) -> RoleShape:
    """Make a role, or give it these permissions; counts for everyone who has it from the next request on."""
    with service.database.begin() as connection:
        with staying_managed(connection):
            before = roles.set_role(connection, role_name, body.permissions, body.description, now=service.now())
        after = roles.require_role(connection, role_name)
        audit.record(
            connection,
            actor=actor.username,
            event="set_role",
            subject=after.name,
            before=None if before is None else {"permissions": _values(before.permissions)},
            after={"permissions": _values(after.permissions)},
            now=service.now(),
        )
        return role_shape(after)


@router.delete("/roles/{role_name}", status_code=204, response_class=Response)
def delete_role(role_name: RoleName, actor: ActorOf, service: ServiceOf) -> None:
    """Delete a role that nobody has."""
    with service.database.begin() as connection:
        gone = roles.delete_role(connection, role_name)
        audit.record(
            connection,
            actor=actor.username,
            event="delete_role",
            subject=gone.name,
            before={"permissions": _values(gone.permissions)},
            now=service.now(),
        )


@router.get("/grants")
def list_grants(service: ServiceOf, dag_id: Annotated[Text, Query()] = None) -> GrantListShape:
    """List the grants, of one DAG or all."""
    with service.database.begin() as connection:
        found = grants.list_grants(connection, dag_id)
    return {"grants": [grant_shape(one) for one in found], "total_entries": len(found)}


@router.put("/grants")
def put_grant(body: GrantBody, actor: ActorOf, service: ServiceOf) -> GrantShape:
    """Let an account or a team do exactly this with a DAG; an empty list takes the grant away."""
    holder = grants.Holder(body.username, body.team)
    with service.database.begin() as connection:
        before = grants.set_grant(connection, body.dag_id, holder, body.permissions, now=service.now())
        found = [one for one in grants.list_grants(connection, body.dag_id) if one.holder == holder]
        after = found[0] if found else grants.Grant(body.dag_id, holder, ())
        audit.record(
            connection,
            actor=actor.username,
            event="set_grant",
            dag_id=body.dag_id,
            subject=str(holder),
            before={"permissions": _values(before)},
            after={"permissions": _values(after.permissions)},
            now=service.now(),
        )
        return grant_shape(after)


def _values(permissions: tuple[Permission, ...]) -> list[str]:
    return [one.value for one in permissions]
