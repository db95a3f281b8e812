"""Connections: list, one, create, change, delete. Password and extra can be written here, never read (case F8)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from treadle_metadata import audit
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.queries import connections as queries
from treadle_metadata.resources import create_connection, delete_connection, update_connection
from treadle_webserver.authorize import ActorOf
from treadle_webserver.parameters import Name, PageQuery, StrictBody, Text, totals
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.resources import ConnectionListShape, ConnectionShape, connection_shape

router = APIRouter(prefix="/api/v2/connections", tags=["Connection"], route_class=RetriedRoute)

UpdateMask = Annotated[
    list[Literal["conn_type", "description", "host", "login", "schema", "port", "password", "extra"]] | None,
    Query(max_length=8),
]


class ConnectionQuery(PageQuery):
    """Which connections."""

    connection_id_pattern: Text = None
    connection_id_prefix_pattern: Text = None


class ConnectionBody(StrictBody):
    """A connection; ``extra`` is a JSON object as text. In a patch a password ``***`` leaves the stored one."""

    connection_id: str = Field(max_length=1000)
    conn_type: str
    description: str | None = None
    host: str | None = None
    login: str | None = None
    schema_: str | None = Field(None, alias="schema")
    port: int | None = None
    password: str | None = None
    extra: str | None = None

    def fields(self) -> dict[str, Any]:
        """Return what was given, named as ``resources`` names it."""
        given = self.model_dump(exclude_unset=True, by_alias=True, exclude={"connection_id"})
        return {name: value for name, value in given.items() if value != audit.MASK}


@router.get("")
def get_connections(query: Annotated[ConnectionQuery, Query()], service: ServiceOf) -> ConnectionListShape:
    """List connections, without their secrets."""
    with service.database.begin() as connection:
        page = queries.list_connections(
            connection, query.page, pattern=query.connection_id_pattern, prefix=query.connection_id_prefix_pattern
        )
    return {"connections": [connection_shape(row) for row in page.rows], **totals(page)}


@router.post("", status_code=201)
def post_connection(body: ConnectionBody, actor: ActorOf, service: ServiceOf) -> ConnectionShape:
    """Create a connection."""
    with service.database.begin() as connection:
        create_connection(connection, body.connection_id, body.fields(), crypto=service.crypto)
        audit.record(
            connection,
            actor=actor.username,
            event="create_connection",
            detail={"name": body.connection_id, "conn_type": body.conn_type},
            now=service.now(),
        )
        return connection_shape(queries.get_connection(connection, body.connection_id))


@router.get("/{connection_id:path}")
def get_connection(connection_id: Name, service: ServiceOf) -> ConnectionShape:
    """Return one connection, without its secrets."""
    with service.database.begin() as connection:
        return connection_shape(queries.get_connection(connection, connection_id))


@router.patch("/{connection_id:path}")
def patch_connection(
    connection_id: Name,
    body: ConnectionBody,
    actor: ActorOf,
    service: ServiceOf,
    update_mask: UpdateMask = None,
) -> ConnectionShape:
    """Change what is given of a connection; its id stays."""
    if body.connection_id != connection_id:
        raise InvalidRequestError("the connection_id in the body must be that in the address: it cannot be changed")
    given = body.fields()
    if update_mask is not None:
        given = {name: value for name, value in given.items() if name in update_mask}
    with service.database.begin() as connection:
        update_connection(connection, connection_id, given, crypto=service.crypto)
        audit.record(
            connection,
            actor=actor.username,
            event="patch_connection",
            detail={"name": connection_id, "changed": sorted(given)},
            now=service.now(),
        )
        return connection_shape(queries.get_connection(connection, connection_id))


@router.delete("/{connection_id:path}", status_code=204, response_class=Response)
def delete_one_connection(connection_id: Name, actor: ActorOf, service: ServiceOf) -> None:
    """Delete a connection."""
    with service.database.begin() as connection:
        delete_connection(connection, connection_id)
        audit.record(
            connection,
            actor=actor.username,
            event="delete_connection",
            detail={"name": connection_id},
            now=service.now(),
        )
