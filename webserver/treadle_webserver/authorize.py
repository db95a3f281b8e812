"""The check that runs before every handler: who asks, and does the account's role allow this route?

The account is read on each request, so a changed password or role, a logout or a deactivation counts at once (F13).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from treadle_metadata.accounts import Account, Role, find_account
from treadle_metadata.attempt_tokens import AttemptClaim, AttemptTokenError, Scope
from treadle_webserver.permissions import TABLE, Permission, allowed
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.tokens import InvalidTokenError

_BEARER = {"WWW-Authenticate": "Bearer"}


@dataclass(frozen=True, slots=True)
class Actor:
    """The logged-in account behind a request."""

    username: str
    role: Role


def authorize(request: Request, service: ServiceOf) -> None:
    """Let the request through, and keep its actor, or refuse it with 401 or 403."""
    path = getattr(request.scope.get("route"), "path", "")
    needed = TABLE.get((request.method, path))
    if needed is Permission.PUBLIC:
        return
    if needed is Permission.ATTEMPT:
        request.state.claim = _attempt(request, service)
        return
    if needed is Permission.AWAKEABLE:
        # Good for nothing but its one post, which looks it up.
        request.state.awakeable = _token(request)
        return
    account = _account(request, service)
    role = Role(account.role)
    if needed is None or not allowed(role, needed):
        raise HTTPException(403, f"Forbidden: role {role.value} may not {needed or 'use this'}")
    request.state.actor = Actor(account.username, role)


def _token(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise HTTPException(401, "Not authenticated", _BEARER)
    return token.strip()


def _attempt(request: Request, service: Service) -> AttemptClaim:
    try:
        return service.attempt_tokens.read(_token(request), tuple(Scope), now=service.now())
    except AttemptTokenError as error:
        raise HTTPException(401, str(error), _BEARER) from error


def _account(request: Request, service: Service) -> Account:
    try:
        claim = service.tokens.read(_token(request), now=service.now())
    except InvalidTokenError as error:
        raise HTTPException(401, str(error), _BEARER) from error
    with service.database.begin() as connection:
        account = find_account(connection, claim.username)
    if account is None or not account.is_active or account.token_version != claim.token_version:
        raise HTTPException(401, "Token revoked: log in again", _BEARER)
    return account


async def _claim(request: Request) -> AttemptClaim:
    claim: AttemptClaim = request.state.claim
    return claim


ClaimOf = Annotated[AttemptClaim, Depends(_claim)]
"""Parameter type of a handler of the Execution API: what the request's token says."""


async def _actor(request: Request) -> Actor:
    actor: Actor = request.state.actor
    return actor


ActorOf = Annotated[Actor, Depends(_actor)]
"""Parameter type of a handler that needs to know who asks."""


async def _awakeable(request: Request) -> str:
    token: str = request.state.awakeable
    return token


AwakeableOf = Annotated[str, Depends(_awakeable)]
"""Parameter type of the handler that takes posts of outside parties: the token that the request came with."""
