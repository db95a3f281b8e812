"""Sessions of browsers, API tokens, and managing accounts over the API (cases F8, F9, F13)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from tests.integration.web.conftest import add_account
from tests.support.served import served
from tests.support.web import PASSWORD, Client, add_try, client_of, session_of

from treadle_metadata import accounts
from treadle_metadata.accounts import Role
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_webserver.app import create_app

LOGIN = {"username": "user", "password": PASSWORD}


@pytest.fixture
def browser(app: FastAPI, database: Database, clock: ManualClock) -> Iterator[Client]:
    """A client that has logged in as a browser does; its headers hold the cookie and the CSRF token."""
    add_account(database, Role.USER, clock)
    with client_of(app) as client:
        yield client


def logged_in(client: Client) -> tuple[dict[str, str], str]:
    """Return the headers of a new browser's session, and its Set-Cookie."""
    answer = client.post("/auth/login", json=LOGIN)
    assert answer.status_code == 200, answer.text
    cookie = answer.headers["Set-Cookie"]
    return {"Cookie": cookie.partition(";")[0], "X-CSRF-Token": answer.json()["access_token"]}, cookie


def test_a_browsers_cookie_is_out_of_reach_of_scripts_and_other_sites(browser: Client) -> None:
    headers, cookie = logged_in(browser)
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert browser.json("/auth/me", headers=headers)["csrf_token"] == headers["X-CSRF-Token"]


def test_behind_tls_and_a_path_the_cookie_stays_there(
    settings: Settings, database: Database, clock: ManualClock
) -> None:
    add_account(database, Role.USER, clock)
    behind = replace(settings, public_url="https://example.org/treadle/")
    with client_of(create_app(behind, database, clock=clock)) as client:
        _, cookie = logged_in(client)
    assert {"Secure", "Path=/treadle/"} <= set(cookie.split("; "))


def test_a_write_with_a_cookie_needs_the_token_that_only_our_pages_know(browser: Client, weather: str) -> None:
    headers, _ = logged_in(browser)
    cookie = {"Cookie": headers["Cookie"]}
    patch = {"json": {"is_paused": True}}
    assert browser.get(weather, headers=cookie).status_code == 200
    assert browser.patch(weather, headers=cookie, **patch).status_code == 403
    assert browser.patch(weather, headers=cookie | {"X-CSRF-Token": "x"}, **patch).status_code == 403
    other, _ = logged_in(browser)
    assert browser.patch(weather, headers=cookie | {"X-CSRF-Token": other["X-CSRF-Token"]}, **patch).status_code == 403
    assert browser.patch(weather, headers=headers | {"Sec-Fetch-Site": "cross-site"}, **patch).status_code == 403
    assert browser.patch(weather, headers=headers, **patch).status_code == 200


def test_a_browsers_secret_is_no_bearer_token_and_a_token_is_no_cookie(browser: Client) -> None:
    headers, _ = logged_in(browser)
    secret = headers["Cookie"].partition("=")[2]
    assert browser.get("/auth/me", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    token = browser.post("/auth/token", json=LOGIN).json()["access_token"]
    assert browser.get("/auth/me", headers={"Cookie": f"treadle_session={token}"}).status_code == 401


@pytest.mark.parametrize("end", ["logout", "reset", "disable", "role", "elsewhere", "own password"])
def test_a_copied_cookie_is_dead_at_once(
    browser: Client, app: FastAPI, database: Database, clock: ManualClock, end: str
) -> None:
    add_account(database, Role.ADMIN, clock)
    headers, _ = logged_in(browser)
    assert browser.get("/auth/me", headers=headers).status_code == 200
    with client_of(app) as admin:
        admin.token = session_of(database, "admin", clock)
        match end:
            case "logout":
                answer = browser.post("/auth/logout", headers=headers)
                assert 'treadle_session=""' in answer.headers["Set-Cookie"]
            case "reset":
                answer = admin.patch("/auth/accounts/user", json={"password": "another password"})
            case "disable":
                answer = admin.patch("/auth/accounts/user", json={"is_active": False})
            case "role":
                answer = admin.patch("/auth/accounts/user", json={"role": "Viewer"})
            case "elsewhere":
                (one,) = admin.json("/auth/sessions", params={"username": "user"})["sessions"]
                answer = admin.delete(f"/auth/sessions/{one['id']}")
            case _:
                body = {"old_password": PASSWORD, "new_password": "another password"}
                answer = browser.request("PUT", "/auth/me/password", headers=headers, json=body)
        assert answer.status_code in (200, 204), answer.text
    assert browser.get("/auth/me", headers=headers).status_code == 401


@pytest.mark.parametrize("by", ["admin", "oneself"])
def test_another_password_takes_the_api_tokens_along_where_that_is_asked(
    browser: Client, app: FastAPI, database: Database, clock: ManualClock, by: str
) -> None:
    add_account(database, Role.ADMIN, clock)
    headers, _ = logged_in(browser)
    token = browser.post("/auth/me/tokens", json={"name": "ci"}, headers=headers).json()["token"]
    bearer = {"Authorization": f"Bearer {token}"}
    with client_of(app) as admin:
        admin.token = session_of(database, "admin", clock)
        path, own = "/auth/accounts/user", {"old_password": PASSWORD, "new_password": "another password"}
        if by == "admin":
            assert admin.patch(path, json={"password": "another password"}).status_code == 200
            assert browser.get("/auth/me", headers=bearer).status_code == 200
            assert admin.patch(path, json={"password": "a third password", "revoke_tokens": True}).status_code == 200
        else:
            body = own | {"revoke_tokens": True}
            assert browser.request("PUT", "/auth/me/password", headers=headers, json=body).status_code == 204
        assert browser.get("/auth/me", headers=bearer).status_code == 401
        event = admin.json("/api/v2/eventLogs", params={"order_by": "-event_log_id", "limit": 1})["event_logs"][0]
    assert json.loads(event["extra"])["revoked"] == 1


@pytest.mark.parametrize("stream", ["wait?interval=0.05", "taskInstances/fetch/logs/1/follow"])
def test_an_open_stream_ends_with_its_session(
    app: FastAPI, admin: Client, database: Database, settings: Settings, clock: ManualClock, weather: str, stream: str
) -> None:
    with database.begin() as connection:
        add_try(connection, "weather", "first", "fetch", "fetch.log", now=clock.now())
    log = settings.path("logs_folder") / "fetch.log"
    log.parent.mkdir(parents=True)
    log.write_text('{"text": "begins", "level": "info"}\n')
    headers = {"Authorization": f"Bearer {admin.token}"}
    with (
        served(app) as url,
        httpx.stream("GET", f"{url}{weather}/dagRuns/first/{stream}", headers=headers, timeout=10) as answer,
    ):
        assert answer.status_code == 200
        lines = answer.iter_lines()
        next(lines)
        with database.begin() as connection:
            assert accounts.end_sessions(connection, "admin") == 1
        rest = list(lines)
    assert ("log in again" in rest[-1]) if stream.startswith("wait") else not any("event: end" in one for one in rest)


def test_one_sees_and_ends_ones_own_sessions_only(browser: Client, admin: Client) -> None:
    headers, _ = logged_in(browser)
    (own,) = browser.json("/auth/me/sessions", headers=headers)["sessions"]
    assert (own["current"], own["in_browser"], own["username"]) == (True, True, "user")
    assert admin.delete(f"/auth/me/sessions/{own['id']}").status_code == 404
    assert browser.delete(f"/auth/me/sessions/{own['id']}", headers=headers).status_code == 204
    assert browser.get("/auth/me", headers=headers).status_code == 401


def test_a_token_is_shown_once_and_stored_as_a_hash(admin: Client, database: Database, clock: ManualClock) -> None:
    made = admin.post("/auth/me/tokens", json={"name": "ci", "scopes": ["read"], "days": 7})
    assert made.status_code == 201, made.text
    secret = made.json()["token"]
    assert admin.post("/auth/me/tokens", json={"name": "ci"}).status_code == 409
    assert secret not in admin.get("/auth/me/tokens").text
    with database.begin() as connection:
        stored = rows(connection, "SELECT * FROM api_token")[0]
    assert secret not in str(stored)
    admin.token = secret
    assert admin.get("/api/v2/dags").status_code == 200
    answer = admin.patch("/api/v2/dags?dag_id_pattern=~", json={"is_paused": True})
    assert (answer.status_code, "scopes" in answer.json()["detail"]) == (403, True)
    for url, body in (("/auth/me/tokens", {"name": "wider"}), ("/auth/logout", None)):
        assert admin.post(url, json=body).status_code == 403
    clock.advance(timedelta(days=7))
    assert admin.get("/api/v2/dags").status_code == 401


def test_a_token_follows_its_account_and_can_be_deleted(admin: Client, database: Database, clock: ManualClock) -> None:
    session = admin.token
    made = admin.post("/auth/me/tokens", json={"name": "ci"}).json()
    admin.token = made["token"]
    assert admin.get("/auth/accounts").status_code == 200
    with database.begin() as connection:
        accounts.create_account(connection, "other", "long enough", Role.ADMIN, now=clock.now())
        accounts.change_role(connection, "admin", "viewer")
    assert admin.get("/auth/accounts").status_code == 403
    assert admin.get("/api/v2/dags").status_code == 200
    with database.begin() as connection:
        accounts.set_active(connection, "admin", False)
    assert admin.get("/api/v2/dags").status_code == 401
    with database.begin() as connection:
        accounts.set_active(connection, "admin", True)
    assert admin.get("/api/v2/dags").status_code == 200
    assert admin.get("/auth/me", headers={"Authorization": f"Bearer {session}"}).status_code == 401
    assert admin.delete(f"/auth/me/tokens/{made['id']}").status_code == 204
    assert admin.get("/api/v2/dags").status_code == 401


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "x", "scopes": []}, 422),
        ({"name": "x", "scopes": ["read everything"]}, 404),
        ({"name": "x", "days": 0}, 422),
        ({"name": "x", "days": 5000}, 422),
    ],
)
def test_a_token_that_cannot_be_is_refused(admin: Client, body: dict[str, object], status: int) -> None:
    assert admin.post("/auth/me/tokens", json=body).status_code == status


def test_accounts_roles_teams_and_grants_are_managed_and_every_change_is_recorded(
    admin: Client, database: Database, weather: str
) -> None:
    for method, url, body, status in (
        ("POST", "/auth/accounts", {"username": "ann", "password": "first password"}, 201),
        ("POST", "/auth/accounts", {"username": "ann", "password": "first password"}, 409),
        ("PUT", "/auth/roles/Auditor", {"permissions": ["read dags", "read-logs"]}, 200),
        ("PUT", "/auth/roles/Auditor", {"permissions": ["read dags"]}, 200),
        ("PUT", "/auth/roles/admin", {"permissions": ["read dags"]}, 409),
        ("PUT", "/auth/roles/Empty", {"permissions": []}, 422),
        ("PATCH", "/auth/accounts/ann", {"role": "Auditor"}, 200),
        ("DELETE", "/auth/roles/Auditor", None, 409),
        ("POST", "/auth/teams", {"name": "data", "folders": ["data"]}, 201),
        ("POST", "/auth/teams", {"name": "other", "folders": ["data"]}, 409),
        ("PATCH", "/auth/teams/data", {"folders": ["data", "data/deep"]}, 200),
        ("PATCH", "/auth/teams/data", {"folders": ["../up"]}, 422),
        ("PUT", "/auth/teams/data/members/ann", {"role": "Op"}, 200),
        ("PUT", "/auth/teams/data/members/anne", {"role": "Op"}, 404),
        ("DELETE", "/auth/teams/data/members/ann", None, 204),
        ("PUT", "/auth/grants", {"dag_id": "weather", "username": "ann", "permissions": ["trigger runs"]}, 200),
        ("PUT", "/auth/grants", {"dag_id": "weather", "permissions": ["trigger runs"]}, 422),
        ("PUT", "/auth/grants", {"dag_id": "weather", "username": "ann", "permissions": ["edit pools"]}, 422),
        ("DELETE", "/auth/teams/data", None, 204),
        ("PATCH", "/auth/accounts/ann", {"password": "second password", "is_active": False}, 200),
        ("DELETE", "/auth/accounts/ann", None, 204),
        ("DELETE", "/auth/roles/Auditor", None, 204),
    ):
        answer = admin.request(method, url, json=body)
        assert answer.status_code == status, (method, url, answer.text)
    with database.begin() as connection:
        log = rows(connection, "SELECT event, detail FROM audit_log WHERE actor = 'admin' ORDER BY id")
    told = [row["event"] for row in log]
    assert told == [
        "create_user",
        "set_role",
        "set_role",
        "patch_user",
        "create_team",
        "patch_team",
        "set_team_member",
        "delete_team_member",
        "set_grant",
        "delete_team",
        "patch_user",
        "delete_user",
        "delete_role",
    ]
    by_event = dict(zip(told, (row["detail"] for row in log), strict=True))
    assert by_event["patch_user"]["before"] == {"is_active": True}
    assert by_event["patch_user"]["after"] == {"is_active": False}
    assert by_event["set_grant"]["after"] == {"permissions": ["read DAGs", "trigger runs"]}
    assert log[2]["detail"]["before"] == {"permissions": ["read DAGs", "read logs"]}
    assert "password" not in "".join(map(str, by_event.values())).replace("password_reset", "")


@pytest.mark.parametrize("role", list(Role))
def test_no_role_reads_the_password_of_a_connection(
    admin: Client, database: Database, clock: ManualClock, role: Role
) -> None:
    body = {
        "connection_id": "db",
        "conn_type": "http",
        "host": "127.0.0.1",
        "port": 1,
        "password": "c4nary",
        "extra": '{"token": "c4nary"}',
    }
    assert admin.post("/api/v2/connections", json=body).status_code == 201
    if role is not Role.ADMIN:
        add_account(database, role, clock)
    admin.token = session_of(database, role.lower(), clock)
    answers = [
        admin.get("/api/v2/connections"),
        admin.get("/api/v2/connections/db"),
        admin.patch("/api/v2/connections/db", json={"connection_id": "db", "conn_type": "ftp"}),
        admin.post("/api/v2/connections/test", json=body),
        admin.post("/api/v2/connections", json=body),
        admin.patch("/api/v2/connections", json={"actions": [{"action": "create", "entities": [body]}]}),
        admin.get("/api/v2/eventLogs"),
        admin.get("/ui/audit"),
        admin.get("/auth/me"),
    ]
    assert "c4nary" not in "".join(one.text for one in answers)
    assert (answers[1].status_code == 200) == (role in (Role.OP, Role.ADMIN))
    assert all(one.status_code < 500 for one in answers)


def test_a_team_that_is_not_there_can_own_nothing(admin: Client) -> None:
    for url, body in (
        ("/api/v2/variables", {"key": "k", "value": "v"}),
        ("/api/v2/connections", {"connection_id": "c", "conn_type": "http"}),
        ("/api/v2/pools", {"name": "p", "slots": 1}),
    ):
        answer = admin.post(url, json=body | {"team_name": "nobody"})
        assert (answer.status_code, answer.json()["detail"]) == (404, "team 'nobody' was not found")


def test_the_first_account_is_made_once_with_a_password_of_chance(database: Database, clock: ManualClock) -> None:
    with database.begin() as connection:
        password = accounts.create_first(connection, now=clock.now())
        assert password is not None
        found = accounts.verify(connection, "admin", password, now=clock.now())
        assert (found and found.role, accounts.create_first(connection, now=clock.now())) == ("Admin", None)


def test_a_hash_of_older_parameters_is_renewed_at_the_next_login(database: Database, clock: ManualClock) -> None:
    old = PasswordHash([Argon2Hasher(time_cost=1, memory_cost=1024, parallelism=1)]).hash(PASSWORD)
    with database.begin() as connection:
        accounts.create_account(connection, "ann", None, Role.USER, now=clock.now())
        execute(connection, "UPDATE account SET password_hash = %(old)s", {"old": old})
        assert accounts.verify(connection, "ann", PASSWORD, now=clock.now()) is not None
        (row,) = rows(connection, "SELECT password_hash, last_login_at FROM account")
        assert "m=19456,t=2,p=1" in row["password_hash"]
        assert row["last_login_at"] == clock.now()
        assert accounts.verify(connection, "ann", PASSWORD) is not None


def test_the_last_account_that_manages_accounts_stays(admin: Client) -> None:
    for answer in (
        admin.delete("/auth/accounts/admin"),
        admin.patch("/auth/accounts/admin", json={"is_active": False}),
        admin.patch("/auth/accounts/admin", json={"role": "Op"}),
    ):
        assert (answer.status_code, "nobody could manage" in answer.json()["detail"]) == (409, True)
    assert admin.get("/api/v2/dags").status_code == 200


def test_edits_of_secrets_are_recorded_without_them(admin: Client, database: Database) -> None:
    body = {
        "connection_id": "db",
        "conn_type": "http",
        "login": "ann",
        "password": "c4nary",
        "extra": '{"a": "c4nary"}',
    }
    assert admin.post("/api/v2/connections", json=body).status_code == 201
    assert admin.patch("/api/v2/connections/db", json=body | {"login": "bob"}).status_code == 200
    for value in ("c4nary one", "c4nary two"):
        method, url = ("POST", "") if value.endswith("one") else ("PATCH", "/plain")
        answer = admin.request(method, f"/api/v2/variables{url}", json={"key": "plain", "value": value})
        assert answer.status_code in (200, 201), answer.text
    with database.begin() as connection:
        log = rows(connection, "SELECT event, detail FROM audit_log WHERE actor = 'admin' ORDER BY id")
    assert "c4nary" not in str(log)
    details = {row["event"]: row["detail"] for row in log}
    assert (details["patch_connection"]["before"], details["patch_connection"]["after"]) == (
        {"login": "ann"},
        {"login": "bob"},
    )
    assert details["patch_variable"]["after"] == {"value": "*** (changed)"}


def test_the_log_of_what_concerns_no_dag_is_for_those_who_may_read_all_of_it(
    admin: Client, database: Database, clock: ManualClock, weather: str
) -> None:
    assert admin.patch(weather, json={"is_paused": True}).status_code == 200
    assert admin.post("/api/v2/variables", json={"key": "k", "value": "v"}).status_code == 201
    events = admin.json("/api/v2/eventLogs")["event_logs"]
    assert {one["event"] for one in events} == {"pause_dag", "create_variable"}
    add_account(database, Role.VIEWER, clock)
    admin.token = session_of(database, "viewer", clock)
    assert [one["event"] for one in admin.json("/api/v2/eventLogs")["event_logs"]] == ["pause_dag"]
    (hidden,) = [one["event_log_id"] for one in events if one["event"] == "create_variable"]
    assert admin.get(f"/api/v2/eventLogs/{hidden}").status_code == 404
