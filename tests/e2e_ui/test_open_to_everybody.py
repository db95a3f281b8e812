"""Every page as axe sees it: names, roles, contrast and order that keep nobody out, in light and in dark."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page
from tests.support.browsing import barriers

PAGES = (
    "/",
    "/dags",
    "/dags/greetings",
    "/runs",
    "/account",
    "/admin/pools",
    "/admin/variables",
    "/admin/connections",
    "/admin/problems",
    "/admin/accounts",
    "/admin/roles",
    "/admin/teams",
    "/admin/grants",
    "/admin/sessions",
    "/admin/audit",
    "/admin/settings",
    "/admin/processes",
)


def test_axe_finds_nothing_on_any_page(opened: Callable[..., Page]) -> None:
    page = opened("/dags")
    found: list[str] = []
    for address in PAGES:
        page.goto(address)
        page.get_by_role("heading", level=1).wait_for()
        found += barriers(page)
    page.goto("/dags")
    page.get_by_role("button", name="Trigger greetings").click()
    page.get_by_role("dialog").get_by_label("tone").wait_for()
    found += barriers(page)
    assert found == []


def test_a_button_without_a_name_would_be_found(opened: Callable[..., Page]) -> None:
    page = opened("/account")
    page.get_by_role("heading", level=1).wait_for()
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")

    assert [one for one in barriers(page) if "button-name" in one]
