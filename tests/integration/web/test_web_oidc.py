"""Login through an identity provider, which is another program on a socket of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from fastapi import FastAPI
from tests.support.oidc_provider import CLIENT_ID, CLIENT_SECRET, OidcProvider, oidc_provider
from tests.support.web import Client, client_of

from treadle_metadata import accounts
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.login_settings import OidcSettings
from treadle_metadata.rights.identities import role_of, teams_of
from treadle_metadata.rights.teams import create_team, require_team
from treadle_metadata.settings import Settings, SettingsError
from treadle_metadata.statements import rows
from treadle_webserver.app import create_app

PUBLIC_URL = "http://treadle/base"


@pytest.fixture
def provider(clock: ManualClock) -> Iterator[OidcProvider]:
    """The identity provider."""
    with oidc_provider(clock.now) as found:
        yield found


def with_provider(settings: Settings, provider: OidcProvider, **more: Any) -> Settings:
    """Return settings that name the provider."""
    oidc = {
        "issuer": provider.url,
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "roles": {"staff": "Viewer", "admins": "Admin"},
        "teams": {"data-people": "data:Op", "staff": "data"},
    }
    return replace(settings, public_url=PUBLIC_URL, login=json.dumps({"oidc": oidc | more}))


@pytest.fixture
def app(settings: Settings, database: Database, clock: ManualClock, provider: OidcProvider) -> FastAPI:
    """The application, with the provider, and a team that groups may give."""
    with database.begin() as connection:
        create_team(connection, "data", now=clock.now())
    return create_app(with_provider(settings, provider), database, clock=clock)


@pytest.fixture
def browser(app: FastAPI) -> Iterator[Client]:
    """A browser of its own."""
    with client_of(app) as client:
        yield client


def sent_back(location: str) -> dict[str, str]:
    """Follow a redirect to the provider, where the person logs in; return what it sends back."""
    with httpx.Client() as person:
        answer = person.get(location)
    assert answer.status_code == 302, answer.text
    back = urlsplit(answer.headers["Location"])
    assert f"{back.scheme}://{back.netloc}{back.path}" == f"{PUBLIC_URL}/auth/oidc/callback"
    return {name: values[0] for name, values in parse_qs(back.query).items()}


def begun(browser: Client, following: str = "/dags?x=1") -> tuple[str, dict[str, str]]:
    """Begin a login; return the provider's address, and the browser's cookie."""
    answer = browser.get("/auth/oidc/login", params={"next": following})
    assert answer.status_code == 302, answer.text
    cookie = answer.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=lax", "Path=/base/"} <= set(cookie.split("; "))
    return answer.headers["Location"], {"Cookie": cookie.partition(";")[0]}


def log_in(browser: Client) -> httpx.Response:
    """Log in at the provider and come back."""
    location, cookie = begun(browser)
    return browser.get("/auth/oidc/callback", params=sent_back(location), headers=cookie)


def me(browser: Client, answer: httpx.Response) -> dict[str, Any]:
    """Return who is logged in with the session that ``answer`` sets."""
    assert answer.status_code == 302, answer.text
    (cookie,) = [one for one in answer.headers.get_list("set-cookie") if one.startswith("treadle_session=")]
    found: dict[str, Any] = browser.json("/auth/me", headers={"Cookie": cookie.partition(";")[0]})
    return found


def test_a_person_logs_in_with_the_role_and_teams_of_their_groups(
    browser: Client, provider: OidcProvider, database: Database
) -> None:
    provider.person["groups"] = ["staff", "data-people"]
    answer = log_in(browser)
    assert answer.headers["Location"] == "/base/dags?x=1"
    found = me(browser, answer)
    assert (found["username"], found["role"], list(found["teams"])) == ("ann", "Viewer", ["data"])
    assert "edit pools" in found["teams"]["data"]
    with database.begin() as connection:
        assert accounts.verify(connection, "ann", "") is None
        (event,) = rows(connection, "SELECT actor, event, detail FROM audit_log")
    assert (event["actor"], event["event"], event["detail"]["by"]) == ("ann", "login", "oidc")


def test_groups_count_anew_at_each_login(browser: Client, provider: OidcProvider, database: Database) -> None:
    provider.person["groups"] = ["admins", "data-people"]
    assert me(browser, log_in(browser))["role"] == "Admin"
    with database.begin() as connection:
        accounts.create_account(connection, "other", "long enough", "Admin", now=provider.now())
    provider.person |= {"groups": ["staff"], "preferred_username": "ann-married"}
    found = me(browser, log_in(browser))
    assert (found["username"], found["role"]) == ("ann", "Viewer")
    with database.begin() as connection:
        assert require_team(connection, "data").members == {"ann": "User"}


def test_what_the_token_does_not_tell_is_asked_of_the_provider(browser: Client, provider: OidcProvider) -> None:
    provider.person["groups"] = ["staff"]
    provider.in_token = ("sub",)
    assert me(browser, log_in(browser))["username"] == "ann"


@pytest.mark.parametrize(
    "lie",
    [
        {"iss": "http://somebody.else"},
        {"aud": "another client"},
        {"nonce": "of another login"},
        {"exp": 1},
        {"iat": 99999999999},
        {"azp": "another client"},
        {"sub": None},
        "forged",
    ],
)
def test_a_token_that_is_not_for_this_login_is_refused(browser: Client, provider: OidcProvider, lie: Any) -> None:
    provider.person["groups"] = ["staff"]
    if lie == "forged":
        provider.forges = True
    else:
        provider.lies = lie
    answer = log_in(browser)
    assert (answer.status_code, answer.headers.get("set-cookie")) == (401, None), answer.text


def test_only_the_browser_that_began_a_login_ends_it_once_and_in_time(
    browser: Client, provider: OidcProvider, clock: ManualClock
) -> None:
    provider.person["groups"] = ["staff"]
    location, cookie = begun(browser)
    back = sent_back(location)
    _, other = begun(browser)
    for headers, given in (
        ({}, back),
        (other, back),
        ({"Cookie": "treadle_oidc=nonsense"}, back),
        (cookie, back | {"state": "x"}),
        (cookie, {"code": back["code"]}),
        (cookie, {"state": back["state"], "error": "access_denied"}),
    ):
        assert browser.get("/auth/oidc/callback", params=given, headers=headers).status_code == 401, given
    assert browser.get("/auth/oidc/callback", params=back, headers=cookie).status_code == 302
    assert browser.get("/auth/oidc/callback", params=back, headers=cookie).status_code == 401
    location, cookie = begun(browser)
    clock.advance(timedelta(minutes=11))
    assert browser.get("/auth/oidc/callback", params=sent_back(location), headers=cookie).status_code == 401


@pytest.mark.parametrize("following", ["//evil.example", "https://evil.example", "/\\evil.example", "dags", "/a\tb"])
def test_a_login_leads_to_no_other_site(browser: Client, following: str) -> None:
    assert browser.get("/auth/oidc/login", params={"next": following}).status_code == 422


def test_who_is_in_no_group_of_ours_or_may_not_log_in_stays_out(
    browser: Client, provider: OidcProvider, database: Database
) -> None:
    provider.person["groups"] = ["elsewhere"]
    assert log_in(browser).status_code == 403
    provider.person["groups"] = ["staff"]
    assert log_in(browser).status_code == 302
    with database.begin() as connection:
        accounts.create_account(connection, "boss", "long enough", "Admin", now=provider.now())
        accounts.set_active(connection, "ann", False)
    assert log_in(browser).status_code == 403


def test_an_account_made_by_hand_is_not_taken_over_by_its_name(
    browser: Client, provider: OidcProvider, database: Database
) -> None:
    with database.begin() as connection:
        accounts.create_account(connection, "ann", "long enough", "Admin", now=provider.now())
    provider.person["groups"] = ["staff"]
    answer = log_in(browser)
    assert (answer.status_code, "does not belong" in answer.json()["detail"]) == (403, True)


def test_a_provider_that_is_away_or_calls_itself_otherwise_is_told(
    settings: Settings, database: Database, clock: ManualClock, provider: OidcProvider
) -> None:
    for issuer in ("http://127.0.0.1:1", f"{provider.url}/"):
        app = create_app(with_provider(settings, provider, issuer=issuer), database, clock=clock)
        with client_of(app) as client:
            assert client.get("/auth/oidc/login").status_code == 502


def test_without_a_provider_there_is_no_such_login(settings: Settings, database: Database, clock: ManualClock) -> None:
    with client_of(create_app(settings, database, clock=clock)) as client:
        assert client.get("/auth/oidc/login").status_code == 404
        assert client.get("/auth/oidc/callback").status_code == 404


@pytest.mark.parametrize(
    ("login", "message"),
    [
        ("no json", "neither a table nor JSON"),
        ('{"session_secnds": 5}', "did you mean 'session_seconds'"),
        ('{"session_seconds": 0}', "session_seconds is 0"),
        ('{"oidc": {"issuer": "https://x"}}', "lacks client_id"),
        ('{"oidc": {"issuer": "http://x.example", "client_id": "t"}}', "expected an https address"),
        ('{"oidc": {"issuer": "https://x", "client_id": "t", "roles": "Admin"}}', "expected a table"),
    ],
)
def test_a_login_setting_that_cannot_be_used_is_told_at_the_start(
    settings: Settings, database: Database, login: str, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        create_app(replace(settings, public_url=PUBLIC_URL, login=login), database)


def test_of_several_groups_the_strongest_role_counts() -> None:
    groups = OidcSettings(
        issuer="x",
        client_id="t",
        roles={"a": "Custom", "b": "Viewer", "c": "Op"},
        teams={"a": "one:Viewer", "b": "one:Op", "c": "two"},
    )
    assert [role_of(given, groups) for given in (["a"], ["a", "b"], ["c", "b"], [])] == ["Custom", "Viewer", "Op", None]
    assert role_of([], replace(groups, default_role="Member")) == "Member"
    assert teams_of(["a", "b", "c"], groups) == {"one": "Op", "two": "User"}
