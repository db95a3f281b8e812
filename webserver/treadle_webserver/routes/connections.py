"""Connections: list, one, create, change, delete, many of these at once, and a test.

Password and extra can be written here, never read (case F8).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy import Connection

from treadle_metadata import audit
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.queries import connections as queries
from treadle_metadata.resources import create_connection, delete_connection, fields_of, update_connection
from treadle_metadata.resources.locking import lock_row
from treadle_webserver.authorize import Actor, ActorOf
from treadle_webserver.bulk import Acts, BulkBody, BulkShape, Mask, carry_out
from treadle_webserver.connection_test import try_connection
from treadle_webserver.etags import IfMatch, require_match, tag
from treadle_webserver.parameters import Name, PageQuery, StrictBody, TeamName, Text, totals
from treadle_webserver.permissions import Permission
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.resources import (
    ConnectionListShape,
    ConnectionShape,
    ConnectionTestShape,
    connection_shape,
)

router = APIRouter(prefix="/api/v2/connections", tags=["Connection"], route_class=RetriedRoute)

Changeable = Literal[
    "connection_id", "conn_type", "description", "host", "login", "schema", "port", "password", "extra"
]
UpdateMask = Annotated[list[Changeable] | None, Query(max_length=9)]


class ConnectionQuery(PageQuery):
    """Which connections."""

    connection_id_pattern: Text = None
    connection_id_prefix_pattern: Text = None


class ConnectionBody(StrictBody):
    """A connection; ``extra`` is a JSON object as text. In a patch a password ``***`` leaves the stored one."""

    connection_id: str = Field(max_length=1000)
    conn_type: str = Field(max_length=1000)
    description: str | None = None
    host: str | None = None
    login: str | None = None
    schema_: str | None = Field(None, alias="schema")
    port: int | None = None
    password: str | None = None
    extra: str | None = None
    team_name: Text = None

    def fields(self) -> dict[str, Any]:
        """Return what was given, named as ``resources`` names it."""
        given = self.model_dump(exclude_unset=True, by_alias=True, exclude={"connection_id", "team_name"})
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
def post_connection(body: ConnectionBody, actor: ActorOf, service: ServiceOf, response: Response) -> ConnectionShape:
    """Create a connection."""
    with service.database.begin() as connection:
        team = _Editor(service, actor).create(connection, body)
        return _tagged(response, queries.get_connection(connection, body.connection_id, team=team))


@router.patch("")
def bulk_connections(body: BulkBody[ConnectionBody], actor: ActorOf, service: ServiceOf) -> BulkShape:
    """Create, change and delete connections, each on its own; the answer tells of each."""
    editor = _Editor(service, actor)
    acts: Acts[ConnectionBody] = Acts(
        key=lambda one: one.connection_id, create=editor.create, update=editor.update, delete=editor.delete
    )
    with service.database.begin() as connection:
        return carry_out(connection, body, acts)


@router.post("/test")
def test_connection(body: ConnectionBody, actor: ActorOf, service: ServiceOf) -> ConnectionTestShape:
    """Tell whether the fields can be used and something listens at the address; no secret is sent to it."""
    fields = fields_of(body.connection_id, body.fields())
    with service.database.begin() as connection:
        detail = {"name": body.connection_id, "host": fields["host"], "port": fields["port"]}
        audit.record(connection, actor=actor.username, event="test_connection", detail=detail, now=service.now())
    # After the transaction: the other side may take its time.
    status, message = try_connection(fields["conn_type"], fields["host"], fields["port"])
    return {"status": status, "message": message}


@router.get("/{connection_id:path}")
def get_connection(
    connection_id: Name, service: ServiceOf, response: Response, team_name: TeamName = None
) -> ConnectionShape:
    """Return one connection, without its secrets."""
    with service.database.begin() as connection:
        return _tagged(response, queries.get_connection(connection, connection_id, team=team_name))


@router.patch("/{connection_id:path}")
def patch_connection(
    connection_id: Name,
    body: ConnectionBody,
    actor: ActorOf,
    service: ServiceOf,
    response: Response,
    update_mask: UpdateMask = None,
    if_match: IfMatch = None,
) -> ConnectionShape:
    """Change what is given of a connection; its id stays."""
    if body.connection_id != connection_id:
        raise InvalidRequestError("the connection_id in the body must be that in the address: it cannot be changed")
    with service.database.begin() as connection:
        _Editor(service, actor).update(connection, body, update_mask, if_match)
        return _tagged(response, queries.get_connection(connection, connection_id, team=body.team_name))


@router.delete("/{connection_id:path}", status_code=204, response_class=Response, name="delete_connection")
def delete_one_connection(connection_id: Name, actor: ActorOf, service: ServiceOf, team_name: TeamName = None) -> None:
    """Delete a connection."""
    with service.database.begin() as connection:
        _Editor(service, actor).delete(connection, connection_id, team_name)


@dataclass(frozen=True, slots=True)
class _Editor:
    """Edits connections for somebody, and records which fields, never their values."""

    service: Service
    actor: Actor

    def create(self, connection: Connection, body: ConnectionBody) -> str:
        """Create a connection, and return whose it is."""
        team = self.actor.team(connection, Permission.EDIT_CONNECTIONS, body.team_name)
        create_connection(connection, body.connection_id, body.fields(), crypto=self.service.crypto, team=team)
        after = queries.get_connection(connection, body.connection_id, team=team)
        self._record(connection, "create_connection", None, after)
        return team

    def update(
        self,
        connection: Connection,
        body: ConnectionBody,
        mask: Collection[str] | Mask,
        if_match: str | None = None,
    ) -> None:
        """Change what is given of a connection, and in the mask."""
        conn_id = body.connection_id
        given = {name: value for name, value in body.fields().items() if mask is None or name in mask}
        lock_row(connection, "connection", conn_id)
        before = queries.get_connection(connection, conn_id, team=body.team_name)
        require_match(if_match, "connection", conn_id, *_facts(before))
        update_connection(connection, conn_id, given, crypto=self.service.crypto, team=before["team"])
        after = queries.get_connection(connection, conn_id, team=before["team"])
        self._record(connection, "patch_connection", before, after, changed=sorted(given))

    def delete(self, connection: Connection, one: str | ConnectionBody, team: str | None = None) -> None:
        """Delete a connection."""
        conn_id, team = (one, team) if isinstance(one, str) else (one.connection_id, one.team_name)
        before = queries.get_connection(connection, conn_id, team=team)
        delete_connection(connection, conn_id, team=before["team"])
        self._record(connection, "delete_connection", before, None)

    def _record(
        self,
        connection: Connection,
        event: str,
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any] | None,
        **detail: Any,
    ) -> None:
        """Record an edit; the rows hold no secret, only whether there is one."""
        one = before or after or {}
        team = {"team": one["team"]} if one["team"] else {}
        audit.record(
            connection,
            actor=self.actor.username,
            event=event,
            subject=one["conn_id"],
            before=_told(before),
            after=_told(after),
            detail=detail | team,
            now=self.service.now(),
        )


def _told(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what the audit log is told of a connection."""
    return None if row is None else {name: value for name, value in row.items() if name != "secrets_mark"}


def _facts(row: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(row[name] for name in sorted(row))


def _tagged(response: Response, row: Mapping[str, Any]) -> ConnectionShape:
    tag(response, *_facts(row))
    return connection_shape(row)
