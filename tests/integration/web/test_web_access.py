"""Who may do what: every route, every role, tokens and their end (cases F1, F2, F12, F13, F15)."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from fastapi import APIRouter, FastAPI
from tests.integration.web.conftest import add_account
from tests.support.web import PASSWORD, Client, client_of

from treadle_metadata import accounts
from treadle_metadata.accounts import Role
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import NotFoundError
from treadle_metadata.failed_logins import FAILURES, WINDOW
from treadle_metadata.settings import Settings, SettingsError
from treadle_webserver.app import create_app, routes_of
from treadle_webserver.permissions import ROLES, TABLE, Permission, PermissionTableError
from treadle_webserver.routes import ROUTERS

ROUTES = sorted(routes_of(ROUTERS))
PUBLIC = {
    ("GET", "/api/v2/monitor/health"),
    ("GET", "/api/v2/version"),
    ("GET", "/{address:path}"),
    ("GET", "/auth/oidc/callback"),
    ("GET", "/auth/oidc/login"),
    ("POST", "/auth/login"),
    ("POST", "/auth/token"),
}
"""Health, login, and the files of the web pages, which hold no data."""


def filled(path: str) -> str:
    """Return ``path`` with something in place of each parameter."""
    return re.sub(r"{([^}]+)}", lambda name: "1" if "number" in name[1] or name[1].endswith("_id") else "0", path)


def test_only_health_version_and_login_answer_without_a_token(anyone: Client) -> None:
    answers = {route: anyone.request(route[0], filled(route[1])).status_code for route in ROUTES}
    assert {route for route, status in answers.items() if status != 401} == PUBLIC
    assert {route for route, needed in TABLE.items() if needed is Permission.PUBLIC} == PUBLIC


def test_each_role_includes_the_one_before_it() -> None:
    assert all(ROLES[lower] < ROLES[higher] for lower, higher in pairwise(Role))


def test_a_route_without_a_permission_refuses_to_start(settings: Settings, database: Database) -> None:
    extra = APIRouter()
    extra.add_api_route("/api/v2/secrets", lambda: None)
    with pytest.raises(PermissionTableError, match=r"GET /api/v2/secrets has no entry"):
        create_app(settings, database, routers=(*ROUTERS, extra))


def test_a_permission_without_a_route_refuses_to_start(settings: Settings, database: Database) -> None:
    with pytest.raises(PermissionTableError, match="which is no route"):
        create_app(settings, database, routers=ROUTERS[:-1])


def test_a_route_that_joins_later_is_closed(app: FastAPI, admin: Client) -> None:
    late = APIRouter()
    late.add_api_route("/late", lambda: {"open": True})
    app.include_router(late)
    # Before the pages, which take every address that is left.
    app.router.routes.insert(0, app.router.routes.pop())
    assert admin.get("/late").status_code == 403


@pytest.mark.parametrize("secret", ["", "short", "a" * 64, "changeme" * 8])
def test_a_guessable_signing_key_refuses_to_start(settings: Settings, database: Database, secret: str) -> None:
    with pytest.raises(SettingsError, match="jwt_secret"):
        create_app(replace(settings, jwt_secret=secret), database)


@pytest.mark.parametrize("token", ["", "a.b.c", "treadle_session_", "treadle_token_x", "x" * 10_000, "\u00e9"])
def test_nonsense_is_no_token(admin: Client, token: str) -> None:
    assert admin.get("/api/v2/dags", headers={b"Authorization": f"Bearer {token}".encode()}).status_code == 401


def test_two_installations_know_nothing_of_each_others_logins(
    admin: Client, settings: Settings, own_database: Database, clock: ManualClock
) -> None:
    with client_of(create_app(settings, own_database, clock=clock)) as elsewhere:
        elsewhere.token = admin.token
        assert elsewhere.get("/api/v2/dags").status_code == 401


def test_a_session_expires(settings: Settings, database: Database, clock: ManualClock) -> None:
    limited = replace(settings, login='{"session_seconds": 60}')
    add_account(database, Role.ADMIN, clock)
    with client_of(create_app(limited, database, clock=clock)) as client:
        client.login("admin")
        clock.advance(timedelta(seconds=59))
        assert client.get("/api/v2/dags").status_code == 200
        clock.advance(timedelta(seconds=1))
        assert client.get("/api/v2/dags").status_code == 401


def test_logout_ends_the_session_that_asks_or_all_of_the_account(admin: Client) -> None:
    copied = admin.token
    admin.login("admin")
    second = admin.token
    assert admin.post("/auth/logout").status_code == 204
    assert admin.get("/api/v2/dags").status_code == 401
    admin.token = copied
    assert admin.get("/api/v2/dags").status_code == 200
    admin.login("admin")
    assert admin.post("/auth/logout", params={"everywhere": True}).status_code == 204
    for token in (copied, second, admin.token):
        admin.token = token
        assert admin.get("/api/v2/dags").status_code == 401


@pytest.mark.parametrize("change", ["password", "role", "active", "delete"])
def test_a_change_of_the_account_ends_its_sessions_at_once(
    admin: Client, database: Database, clock: ManualClock, change: str
) -> None:
    with database.begin() as connection:
        accounts.create_account(connection, "other", "long enough", Role.ADMIN, now=clock.now())
        match change:
            case "password":
                accounts.change_password(connection, "admin", "another password")
            case "role":
                accounts.change_role(connection, "admin", "viewer")
            case "active":
                accounts.set_active(connection, "admin", False)
            case _:
                accounts.delete_account(connection, "admin")
    assert admin.get("/api/v2/dags").status_code == 401


def test_login_takes_a_form_as_well_as_json(admin: Client) -> None:
    form = {"username": "admin", "password": PASSWORD, "grant_type": "password"}
    answer = admin.post("/auth/token", data=form)
    assert answer.status_code == 201
    assert set(answer.json()) == {"access_token"}
    assert admin.json("/auth/me")["role"] == "Admin"


def test_login_with_a_wrong_name_or_password_says_the_same(admin: Client) -> None:
    wrong = admin.post("/auth/token", json={"username": "admin", "password": "wrong"})
    nobody = admin.post("/auth/token", json={"username": "nobody", "password": "wrong"})
    assert (wrong.status_code, wrong.text) == (nobody.status_code, nobody.text) == (401, wrong.text)


def test_a_login_body_with_unknown_keys_or_no_sense_is_refused(admin: Client) -> None:
    assert admin.post("/auth/token", json={"username": "a", "password": "b", "role": "Admin"}).status_code == 422
    assert admin.post("/auth/token", content=b"\xff\xfe").status_code == 422
    assert admin.post("/auth/token", json={"username": "a\0b", "password": "wrong"}).status_code == 401


def test_guessing_passwords_is_slowed_down_by_all_web_servers_together(
    admin: Client, settings: Settings, database: Database, clock: ManualClock
) -> None:
    guess = {"username": "admin", "password": "wrong"}
    with client_of(create_app(settings, database, clock=clock)) as other:
        assert admin.post("/auth/token", json=guess).status_code == 401
        assert admin.post("/auth/token", json=guess | {"password": PASSWORD}).status_code == 201
        servers = [admin, other] * FAILURES
        assert [one.post("/auth/token", json=guess).status_code for one in servers[:FAILURES]] == [401] * FAILURES
        answer = other.post("/auth/token", json=guess | {"password": PASSWORD})
        assert other.post("/auth/token", json=guess | {"username": "somebody"}).status_code == 401
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) <= WINDOW.total_seconds()
    clock.advance(WINDOW)
    assert admin.post("/auth/token", json=guess | {"password": PASSWORD}).status_code == 201


def test_no_answer_may_be_cached(admin: Client, weather: str) -> None:
    for url in ("/api/v2/connections", weather, "/api/v2/monitor/health", "/nowhere"):
        assert admin.get(url).headers["Cache-Control"] == "no-store", url


def test_a_body_that_is_too_large_is_refused_whether_or_not_it_says_so(admin: Client, weather: str) -> None:
    large = b'{"conf": {"x": "' + b"x" * (5 * 1024 * 1024) + b'"}}'
    assert admin.post(f"{weather}/dagRuns", content=large).status_code == 413

    async def in_pieces():
        for start in range(0, len(large), 65536):
            yield large[start : start + 65536]

    assert admin.post(f"{weather}/dagRuns", content=in_pieces()).status_code == 413


def test_account_functions_refuse_what_they_cannot_use(database: Database, clock: ManualClock) -> None:
    with database.begin() as connection:
        accounts.create_account(connection, "zoe", "long enough", "op", now=clock.now())
        assert accounts.verify(connection, "zoe", "long enough") == accounts.Account(
            "zoe", Role.OP, True, created_at=clock.now()
        )
        assert accounts.verify(connection, "zoe", "long enougH") is None
        for arguments, message in (
            (("zoe", "long enough", "op"), "exists already"),
            (("kim", "short", "op"), "expected 8 to"),
            (("kim", "long enough", "king"), "role 'king' was not found"),
            (("k\0m", "long enough", "op"), "cannot be used"),
        ):
            with pytest.raises(Exception, match=message):
                accounts.create_account(connection, *arguments, now=clock.now())
        with pytest.raises(NotFoundError, match="did you mean 'zoe'"):
            accounts.change_role(connection, "zoee", "viewer")
