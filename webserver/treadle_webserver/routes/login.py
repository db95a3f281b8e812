"""Login with a name and a password, for programs (a bearer token) and for browsers (a cookie); logout; who am I."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, NotRequired
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from pydantic import Field, ValidationError
from typing_extensions import TypedDict

from treadle_metadata import audit, failed_logins
from treadle_metadata.accounts import LONGEST_PASSWORD, Account, change_password, end_sessions, verify
from treadle_metadata.rights.credentials import delete_tokens, end_session, open_session
from treadle_metadata.rights.held import Rights
from treadle_metadata.rights.permissions import GIVEN
from treadle_webserver import browser
from treadle_webserver.authorize import Actor, ActorOf
from treadle_webserver.parameters import StrictBody
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf

router = APIRouter(prefix="/auth", tags=["Login"], route_class=RetriedRoute)


class Credentials(StrictBody):
    """A name and a password."""

    username: str = Field(min_length=1, max_length=250)
    password: str = Field(min_length=1, max_length=LONGEST_PASSWORD)


class PasswordBody(StrictBody):
    """Another password for oneself. ``revoke_tokens``: one's API tokens, which outlive a password, end with it."""

    old_password: str = Field(min_length=1, max_length=LONGEST_PASSWORD)
    new_password: str = Field(min_length=1, max_length=LONGEST_PASSWORD)
    revoke_tokens: bool = False


class TokenShape(TypedDict):
    """A token, for the header ``Authorization: Bearer``."""

    access_token: str


class MeShape(TypedDict):
    """Who is logged in, and what they may do: everywhere, in their teams, and with single DAGs.

    ``csrf_token`` is for sessions of browsers: every write must send it in the header ``X-CSRF-Token``.
    """

    username: str
    role: str
    permissions: list[str]
    teams: dict[str, list[str]]
    dags: dict[str, list[str]]
    csrf_token: NotRequired[str]


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
    return {"access_token": _session(request, service, credentials, in_browser=False)}


@router.post("/login")
def login(request: Request, response: Response, credentials: Credentials, service: ServiceOf) -> TokenShape:
    """Open a session in the browser that asks: its secret is in a cookie, the answer's token is the CSRF token."""
    secret = _session(request, service, credentials, in_browser=True)
    seconds = service.login.session_seconds
    browser.set_cookie(
        response, request, browser.COOKIE, secret, seconds=seconds, public_url=service.settings.public_url
    )
    return {"access_token": browser.csrf_token_of(secret)}


@router.post("/logout", status_code=204, response_class=Response)
def logout(request: Request, response: Response, actor: ActorOf, service: ServiceOf, everywhere: bool = False) -> None:
    """End this session, or with ``everywhere`` every session of the account: they are void at once."""
    _refuse_token(actor, "end a session")
    with service.whole_database.begin() as connection:
        if everywhere:
            end_sessions(connection, actor.username)
        else:
            end_session(connection, actor.proof_id)
        detail = {"everywhere": everywhere}
        audit.record(connection, actor=actor.username, event="logout", detail=detail, now=service.now())
    browser.delete_cookie(response, request, browser.COOKIE, public_url=service.settings.public_url)


@router.get("/me")
async def get_me(actor: ActorOf) -> MeShape:
    """Return the logged-in account."""
    shape: MeShape = {
        "username": actor.username,
        "role": actor.role,
        "permissions": sorted(one.value for one in GIVEN if actor.rights.everywhere_may(one)),
        "teams": {team: _values(actor.rights, team=team) for team in sorted(actor.rights.of_teams)},
        "dags": {dag_id: _values(actor.rights, dag_id=dag_id) for dag_id in sorted(actor.rights.of_dags)},
    }
    if actor.secret is not None:
        shape["csrf_token"] = browser.csrf_token_of(actor.secret)
    return shape


@router.put("/me/password", status_code=204, response_class=Response)
def change_own_password(request: Request, body: PasswordBody, actor: ActorOf, service: ServiceOf) -> None:
    """Change one's password: every session of the account ends, this one too; its API tokens do where that is asked."""
    _refuse_token(actor, "change the password")
    _verified(request, service, Credentials(username=actor.username, password=body.old_password))
    with service.whole_database.begin() as connection:
        change_password(connection, actor.username, body.new_password, field="new_password")
        detail = {"revoked": delete_tokens(connection, actor.username)} if body.revoke_tokens else None
        audit.record(connection, actor=actor.username, event="change_own_password", detail=detail, now=service.now())


def _values(rights: Rights, *, team: str | None = None, dag_id: str | None = None) -> list[str]:
    """Return what is held in a team, or for a DAG, as far as a token's scopes go."""
    held = rights.of_teams[team] if team is not None else rights.of_dags[dag_id or ""]
    return sorted(one.value for one in held if rights.limit is None or one in rights.limit)


def _refuse_token(actor: Actor, act: str) -> None:
    if actor.is_token:
        raise HTTPException(403, f"Forbidden: a token may not {act}; log in with name and password")


def _session(request: Request, service: Service, credentials: Credentials, *, in_browser: bool) -> str:
    account = _verified(request, service, credentials)
    now = service.now()
    with service.whole_database.begin() as connection:
        secret = open_session(
            connection,
            account.username,
            lifetime=timedelta(seconds=service.login.session_seconds),
            in_browser=in_browser,
            address=_address(request),
            user_agent=request.headers.get("user-agent", ""),
            now=now,
        )
        detail = {"in_browser": in_browser, "address": _address(request)}
        audit.record(connection, actor=account.username, event="login", detail=detail, now=now)
    return secret


def _verified(request: Request, service: Service, credentials: Credentials) -> Account:
    """Return the account of a name and its right password, slowing down whoever guesses."""
    now, address = service.now(), _address(request)
    with service.whole_database.begin() as connection:
        wait = failed_logins.wait_seconds(connection, address, credentials.username, now=now)
    if wait:
        raise HTTPException(429, f"too many failed logins; wait {wait} seconds", headers={"Retry-After": str(wait)})
    with service.throttle.place() as held:
        if not held:
            raise HTTPException(503, "too many logins at once; try again", headers={"Retry-After": "1"})
        with service.whole_database.begin() as connection:
            account = verify(connection, credentials.username, credentials.password, now=now)
            if account is None:
                failed_logins.note(connection, address, credentials.username, now=now)
            else:
                failed_logins.forget(connection, address, credentials.username)
    if account is None:
        raise HTTPException(401, "The name or the password is wrong", headers={"WWW-Authenticate": "Bearer"})
    return account


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
