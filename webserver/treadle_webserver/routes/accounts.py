"""Accounts, and everybody's sessions and tokens: for those who may manage accounts."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from treadle_metadata import accounts, audit
from treadle_metadata.rights import credentials
from treadle_webserver.authorize import ActorOf
from treadle_webserver.parameters import StrictBody, Text
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.rights import (
    AccountListShape,
    AccountShape,
    ApiTokenListShape,
    SessionListShape,
    account_shape,
    session_shape,
    token_shape,
)

router = APIRouter(prefix="/auth", tags=["Accounts"], route_class=RetriedRoute)

Username = Annotated[str, Path(min_length=1, max_length=250)]
Password = Annotated[str, Field(min_length=1, max_length=accounts.LONGEST_PASSWORD)]


class AccountBody(StrictBody):
    """An account to make; without a password it logs in through the identity provider only."""

    username: str = Field(min_length=1, max_length=250)
    password: Password | None = None
    role: str = Field(accounts.Role.MEMBER, max_length=250)


class AccountPatch(StrictBody):
    """What can be changed of an account. Each change ends its sessions; ``revoke_tokens`` ends its API tokens too."""

    password: Password | None = None
    role: Annotated[str, Field(max_length=250)] | None = None
    is_active: bool | None = None
    revoke_tokens: bool = False


@router.get("/accounts")
def list_accounts(service: ServiceOf) -> AccountListShape:
    """List the accounts by name."""
    with service.database.begin() as connection:
        found = accounts.list_accounts(connection)
    return {"accounts": [account_shape(one) for one in found], "total_entries": len(found)}


@router.post("/accounts", status_code=201)
def create_account(body: AccountBody, actor: ActorOf, service: ServiceOf) -> AccountShape:
    """Make an account."""
    now = service.now()
    with service.database.begin() as connection:
        accounts.create_account(connection, body.username, body.password, body.role, now=now)
        made = accounts.require_account(connection, body.username)
        audit.record(
            connection, actor=actor.username, event="create_user", after=_facts(made), now=now, subject=made.username
        )
        return account_shape(made)


@router.get("/accounts/{username}")
def get_account(username: Username, service: ServiceOf) -> AccountShape:
    """Return one account."""
    with service.database.begin() as connection:
        return account_shape(accounts.require_account(connection, username))


@router.patch("/accounts/{username}")
def patch_account(username: Username, body: AccountPatch, actor: ActorOf, service: ServiceOf) -> AccountShape:
    """Give an account another password or role, or forbid it to log in; its sessions end at once."""
    with service.database.begin() as connection:
        before = accounts.require_account(connection, username)
        if body.password is not None:
            accounts.change_password(connection, username, body.password)
        if body.role is not None:
            accounts.change_role(connection, username, body.role)
        if body.is_active is not None:
            accounts.set_active(connection, username, body.is_active)
        detail: dict[str, Any] = {"password_reset": True} if body.password is not None else {}
        if body.revoke_tokens:
            detail["revoked"] = credentials.delete_tokens(connection, username)
        after = accounts.require_account(connection, username)
        audit.record(
            connection,
            actor=actor.username,
            event="patch_user",
            subject=username,
            before=_facts(before),
            after=_facts(after),
            detail=detail or None,
            now=service.now(),
        )
        return account_shape(after)


@router.delete("/accounts/{username}", status_code=204, response_class=Response)
def delete_account(username: Username, actor: ActorOf, service: ServiceOf) -> None:
    """Delete an account with its sessions, tokens, memberships and grants."""
    with service.database.begin() as connection:
        before = accounts.require_account(connection, username)
        accounts.delete_account(connection, username)
        audit.record(
            connection,
            actor=actor.username,
            event="delete_user",
            subject=username,
            before=_facts(before),
            now=service.now(),
        )


@router.get("/sessions")
def list_sessions(actor: ActorOf, service: ServiceOf, username: Annotated[Text, Query()] = None) -> SessionListShape:
    """List open sessions, the newest first."""
    with service.database.begin() as connection:
        found = credentials.list_sessions(connection, username, now=service.now())
    return {"sessions": [session_shape(row, actor.proof_id) for row in found], "total_entries": len(found)}


@router.delete("/sessions/{session_id}", status_code=204, response_class=Response)
def end_session(session_id: UUID, actor: ActorOf, service: ServiceOf) -> None:
    """End anybody's session, at once."""
    with service.database.begin() as connection:
        owner = credentials.end_session(connection, session_id)
        detail = {"session": str(session_id)}
        audit.record(
            connection, actor=actor.username, event="end_session", subject=owner, detail=detail, now=service.now()
        )


@router.get("/tokens")
def list_tokens(service: ServiceOf, username: Annotated[Text, Query()] = None) -> ApiTokenListShape:
    """List API tokens, without their secrets."""
    with service.database.begin() as connection:
        found = credentials.list_tokens(connection, username)
    return {"tokens": [token_shape(row) for row in found], "total_entries": len(found)}


@router.delete("/tokens/{token_id}", status_code=204, response_class=Response)
def delete_token(token_id: UUID, actor: ActorOf, service: ServiceOf) -> None:
    """Delete anybody's API token: it is void at once."""
    with service.database.begin() as connection:
        gone = credentials.delete_token(connection, token_id)
        audit.record(
            connection,
            actor=actor.username,
            event="delete_token",
            subject=gone["username"],
            detail={"name": gone["name"]},
            now=service.now(),
        )


def _facts(one: accounts.Account) -> dict[str, Any]:
    return {"role": one.role, "is_active": one.is_active}
