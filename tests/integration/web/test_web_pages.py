"""The built pages as browsers fetch them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.web import Client, client_of

from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_webserver.app import create_app
from treadle_webserver.routes import pages

PAGE = '<!doctype html><base href="/" /><script src="./bundles/index-1.js"></script>'


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of built pages in place of the real one."""
    folder = tmp_path / "built_ui"
    (folder / "bundles").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "icon.svg").write_text("<svg/>")
    (folder / "bundles" / "index-1.js").write_text("// " + "same " * 1000)
    (tmp_path / "secret.txt").write_text("secret")
    monkeypatch.setattr(pages, "BUILT", folder)
    return folder


@pytest.mark.parametrize("address", ["/", "/dags", "/dags/etl.v1/runs/manual__2026-01-01T00:00:00+00:00"])
def test_every_address_of_a_page_gets_the_page(anyone: Client, built: Path, address: str) -> None:
    answer = anyone.get(address)
    assert answer.status_code == 200
    assert answer.text == PAGE.replace('"/"', '"/" data-session="none"')
    assert answer.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


def test_the_page_knows_whether_the_browser_brought_a_session(anyone: Client, built: Path) -> None:
    assert 'data-session="none"' in anyone.get("/").text
    assert "data-session" not in anyone.get("/", headers={"cookie": "treadle_session=any"}).text


def test_bundles_are_kept_for_ever_and_travel_zipped(anyone: Client, built: Path) -> None:
    answer = anyone.get("/bundles/index-1.js", headers={"accept-encoding": "gzip"})
    assert answer.text.startswith("// same")
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]
    assert "javascript" in answer.headers["content-type"]
    assert "content-encoding" not in anyone.get("/bundles/index-1.js", headers={"accept-encoding": "identity"}).headers


@pytest.mark.parametrize(
    "address", ["/api/v2/nothing", "/auth/nothing", "/execution/v1/nothing", "/bundles/index-2.js"]
)
def test_what_is_no_page_is_missing_in_json(anyone: Client, built: Path, address: str) -> None:
    answer = anyone.get(address)
    assert answer.status_code == 404
    assert answer.json()["detail"] == "Not Found"


@pytest.mark.parametrize("address", ["/bundles/../../secret.txt", "/bundles/%2e%2e/%2e%2e/secret.txt"])
def test_no_file_outside_of_the_pages_is_given(anyone: Client, built: Path, address: str) -> None:
    answer = anyone.get(address)
    assert "secret" not in answer.text


def test_the_page_knows_the_base_path_of_a_proxy(
    settings: Settings, database: Database, clock: ManualClock, built: Path
) -> None:
    app = create_app(replace(settings, public_url="https://data.example/team/treadle"), database, clock=clock)
    with client_of(app) as client:
        assert '<base href="/team/treadle/" ' in client.get("/dags").text


def test_the_page_knows_whether_there_is_an_identity_provider(
    settings: Settings, database: Database, clock: ManualClock, built: Path
) -> None:
    oidc = {"issuer": "https://id.example", "client_id": "treadle", "client_secret": "secret"}
    with_one = replace(settings, public_url="https://data.example", login=json.dumps({"oidc": oidc}))
    with client_of(create_app(with_one, database, clock=clock)) as client:
        assert '<base href="/" data-login="oidc" data-session="none" />' in client.get("/").text


def test_an_installation_without_pages_says_so(anyone: Client, built: Path) -> None:
    (built / "index.html").unlink()
    answer = anyone.get("/")
    assert answer.status_code == 404
    assert "no web pages" in answer.json()["detail"]
