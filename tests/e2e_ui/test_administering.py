"""The administration: secrets that are written and never shown, tokens that are shown once, parts by one's rights."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from playwright.sync_api import Page, expect
from tests.support.installed import Installed

Opened = Callable[..., Page]


def test_a_connection_s_password_is_written_and_never_shown(opened: Opened, installed: Installed) -> None:
    page = opened("/admin/connections", "olga")
    page.get_by_role("button", name="Add a connection").click()
    dialog = page.get_by_role("dialog")
    for label, text in (("Id", "warehouse"), ("Type", "postgres"), ("Host", "db.example"), ("Password", "s3cret-word")):
        dialog.get_by_label(label, exact=True).fill(text)
    extra = dialog.get_by_label("Extra")
    extra.fill("no JSON")
    dialog.get_by_role("button", name="Save connection").click()
    # What is refused is told at its field, which is gone to, and not below the form.
    expect(extra).to_have_accessible_description("connection 'warehouse': extra is no JSON object")
    expect(extra).to_be_focused()
    expect(dialog.get_by_role("alert")).to_have_count(0)
    extra.fill("")
    dialog.get_by_role("button", name="Save connection").click()
    expect(page.get_by_role("row", name="warehouse")).to_contain_text("db.example")

    page.get_by_role("button", name="Edit").click()
    expect(dialog.get_by_label("Password")).to_have_value("")
    dialog.get_by_label("Host").fill("db2.example")
    dialog.get_by_role("button", name="Save connection").click()
    expect(page.get_by_role("row", name="warehouse")).to_contain_text("db2.example")
    assert "s3cret-word" not in page.content()
    # The password that was not written again is kept.
    kept = installed.select("SELECT password FROM connection WHERE conn_id = 'warehouse'")
    assert kept[0]["password"]


def test_an_api_token_is_shown_once_and_opens_the_api(opened: Opened, installed: Installed) -> None:
    page = opened("/account", "vera")
    page.get_by_role("button", name="Make an API token").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("dashboard")
    dialog.get_by_role("button", name="Make token").click()
    shown = page.get_by_role("dialog", name="Token dashboard")
    token = shown.locator("p + div").inner_text()
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx.get(f"http://127.0.0.1:{installed.port}/api/v2/dags", headers=headers, trust_env=False)
    assert answer.status_code == 200

    shown.get_by_role("button", name="Close").click()
    expect(page.get_by_role("row", name="dashboard")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert token not in page.content()


def test_a_viewer_sees_the_parts_of_the_administration_that_are_for_them(opened: Opened) -> None:
    page = opened("/admin", "vera")
    parts = page.get_by_role("navigation", name="Parts of the administration")
    expect(parts.get_by_role("link")).to_have_text(["Pools", "Broken files", "Audit"])
    expect(page.get_by_role("row", name="default_pool")).to_be_visible()
    expect(page.get_by_role("button", name="Edit")).to_have_count(0)
