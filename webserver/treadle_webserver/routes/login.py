"""Login by token: a name and a password for a token, and back to nothing."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from pydantic import Field, ValidationError
from typing_extensions import TypedDict

from treadle_metadata import audit
from treadle_metadata.accounts import LONGEST_PASSWORD, end_logins, verify
from treadle_webserver.authorize import ActorOf
from treadle_webserver.parameters import StrictBody
from treadle_webserver.permissions import ROLES
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.tokens import Claim

router = APIRouter(prefix="/auth", tags=["Login"], route_class=RetriedRoute)


class Credentials(StrictBody):
    """A name and a password."""

    username: str = Field(min_length=1, max_length=250)
    password: str = Field(min_length=1, max_length=LONGEST_PASSWORD)


class TokenShape(TypedDict):
    """A token, for the header ``Authorization: Bearer``."""

    access_token: str


class MeShape(TypedDict):
    """Who is logged in, and what they may do."""

    username: str
    role: str
    permissions: list[str]


async def _credentials(request: Request) -> Credentials:
    body = await request.body()
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    try:
        if kind == "application/x-www-form-urlencoded":
            fields = dict(parse_qsl(body.decode(), keep_blank_values=True))
            # What OAuth2 clients send along; it has no meaning here.
            return Credentials.model_validate({name: fields.get(name, "") for name in ("username", "password")})
        return Credentials.model_validate_json(body)
    except (ValidationError, UnicodeDecodeError) as error:
        raise HTTPException(
            422, "the body must hold 'username' and 'password', as JSON or as a form, and nothing else"
        ) from error


@router.post("/token", status_code=201)
def create_token(
    request: Request, credentials: Annotated[Credentials, Depends(_credentials)], service: ServiceOf
) -> TokenShape:
    """Return a token for a name and a password; 401 if they are wrong, 429 after several wrong ones, 503 in a crowd."""
    now = service.now()
    address = request.client.host if request.client else ""
    wait = service.throttle.wait_seconds(address, credentials.username, now=now)
    if wait:
        raise HTTPException(429, f"too many failed logins; wait {wait} seconds", headers={"Retry-After": str(wait)})
    with service.throttle.place() as held:
        if not held:
            raise HTTPException(503, "too many logins at once; try again", headers={"Retry-After": "1"})
        with service.database.begin() as connection:
            account = verify(connection, credentials.username, credentials.password)
            if account is not None:
                audit.record(connection, actor=account.username, event="login", now=now)
    if account is None:
        service.throttle.failed(address, credentials.username, now=now)
        raise HTTPException(401, "Invalid credentials", headers={"WWW-Authenticate": "Bearer"})
    service.throttle.succeeded(address, credentials.username)
    return {"access_token": service.tokens.issue(Claim(account.username, account.token_version), now=now)}


@router.post("/logout", status_code=204, response_class=Response)
def logout(actor: ActorOf, service: ServiceOf) -> None:
    """End every login of the account: all its tokens are void at once."""
    with service.database.begin() as connection:
        end_logins(connection, actor.username)
        audit.record(connection, actor=actor.username, event="logout", now=service.now())


@router.get("/me")
async def get_me(actor: ActorOf) -> MeShape:
    """Return the logged-in account."""
    return {
        "username": actor.username,
        "role": actor.role.value,
        "permissions": sorted(permission.value for permission in ROLES[actor.role]),
    }
