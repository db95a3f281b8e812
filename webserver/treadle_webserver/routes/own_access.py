"""One's own sessions and API tokens: list, end, make, delete; and the permissions that there are."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, HTTPException, Response
from pydantic import Field

from treadle_metadata import audit
from treadle_metadata.rights import credentials
from treadle_metadata.rights.permissions import GIVEN
from treadle_webserver.authorize import ActorOf
from treadle_webserver.parameters import StrictBody
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.rights import (
    ApiTokenListShape,
    NewTokenShape,
    PermissionShape,
    SessionListShape,
    permission_shape,
    session_shape,
    token_shape,
)

router = APIRouter(prefix="/auth", tags=["Login"], route_class=RetriedRoute)


class TokenBody(StrictBody):
    """A token to make. ``scopes``: permissions, or ``read`` for all that only reads; null: all that you may do."""

    name: str = Field(min_length=1, max_length=250)
    scopes: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=100)] | None = None
    days: int = Field(credentials.USUAL_LIFE.days, ge=1, le=credentials.LONGEST_LIFE.days)


@router.get("/permissions")
async def list_permissions() -> list[PermissionShape]:
    """List the permissions that roles, grants and tokens can hold."""
    return [permission_shape(one) for one in sorted(GIVEN)]


@router.get("/me/sessions")
def list_own_sessions(actor: ActorOf, service: ServiceOf) -> SessionListShape:
    """List one's own open sessions, the newest first."""
    with service.whole_database.begin() as connection:
        found = credentials.list_sessions(connection, actor.username, now=service.now())
    return {"sessions": [session_shape(row, actor.proof_id) for row in found], "total_entries": len(found)}


@router.delete("/me/sessions/{session_id}", status_code=204, response_class=Response)
def end_own_session(session_id: UUID, actor: ActorOf, service: ServiceOf) -> None:
    """End one of one's own sessions, at once."""
    with service.whole_database.begin() as connection:
        credentials.end_session(connection, session_id, actor.username)
        detail = {"session": str(session_id)}
        audit.record(connection, actor=actor.username, event="end_session", detail=detail, now=service.now())


@router.get("/me/tokens")
def list_own_tokens(actor: ActorOf, service: ServiceOf) -> ApiTokenListShape:
    """List one's own API tokens; their secrets are kept nowhere."""
    with service.whole_database.begin() as connection:
        found = credentials.list_tokens(connection, actor.username)
    return {"tokens": [token_shape(row) for row in found], "total_entries": len(found)}


@router.post("/me/tokens", status_code=201)
def create_own_token(body: TokenBody, actor: ActorOf, service: ServiceOf) -> NewTokenShape:
    """Make an API token; the answer is the only place where it is ever shown."""
    if actor.is_token:
        raise HTTPException(403, "Forbidden: a token may not make another; log in with name and password")
    with service.whole_database.begin() as connection:
        token_id, secret = credentials.create_token(
            connection,
            actor.username,
            body.name,
            body.scopes,
            lifetime=timedelta(days=body.days),
            now=service.now(),
        )
        detail = {"name": body.name, "scopes": body.scopes, "days": body.days}
        audit.record(connection, actor=actor.username, event="create_token", detail=detail, now=service.now())
    return {"id": str(token_id), "name": body.name, "token": secret}


@router.delete("/me/tokens/{token_id}", status_code=204, response_class=Response)
def delete_own_token(token_id: UUID, actor: ActorOf, service: ServiceOf) -> None:
    """Delete one of one's own API tokens: it is void at once."""
    with service.whole_database.begin() as connection:
        gone = credentials.delete_token(connection, token_id, actor.username)
        detail = {"name": gone["name"]}
        audit.record(connection, actor=actor.username, event="delete_token", detail=detail, now=service.now())
