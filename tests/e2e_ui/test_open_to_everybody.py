"""Every page as axe sees it: names, roles, contrast and order that keep nobody out, in light and in dark."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Page
from tests.support.browsing import barriers
from tests.support.installed import Installed
from tests.support.waiting import wait_until

_RUN = "/dags/night_2/runs/{run}"
PAGES = {
    "lists": ("/", "/dags", "/runs", "/assets", "/timeline", "/human-steps", "/account"),
    "administration": tuple(
        f"/admin/{part}"
        for part in (
            *("pools", "variables", "connections", "problems", "accounts", "roles"),
            *("teams", "grants", "sessions", "audit", "settings", "processes"),
        )
    ),
    "a DAG": tuple(
        f"/dags/night_2{part}"
        for part in ("", "/graph", "/calendar", "/runs", "/tasks", "/code", "/details", "/backfills", "/audit")
    ),
    "a run": (_RUN, f"{_RUN}/graph", f"{_RUN}/gantt", f"{_RUN}/tasks/count"),
}


@pytest.mark.parametrize("part", PAGES)
def test_axe_and_the_console_find_nothing_on_any_page(
    opened: Callable[..., Page], installed: Installed, part: str
) -> None:
    ended = "SELECT run_id FROM dag_run WHERE dag_id = 'night_2' AND ended_at IS NOT NULL ORDER BY id LIMIT 1"
    wait_until(lambda: bool(installed.select(ended)), 20)
    run = installed.select(ended)[0]["run_id"]
    page = opened("/dags")
    found: list[str] = []
    # Nor does any page write an error into the browser's console, such as that of a request that was refused.
    page.on("console", lambda said: found.append(f"{page.url}: {said.text}") if said.type == "error" else None)
    for address in PAGES[part]:
        page.goto(address.format(run=quote(str(run), safe="")))
        page.get_by_role("heading", level=1).wait_for()
        found += barriers(page)
    assert found == []


def test_axe_finds_nothing_in_the_form_for_a_run(opened: Callable[..., Page]) -> None:
    page = opened("/dags")
    page.get_by_role("button", name="Trigger greetings").click()
    page.get_by_role("dialog").get_by_label("tone").wait_for()

    assert barriers(page) == []


def test_a_button_without_a_name_would_be_found(opened: Callable[..., Page]) -> None:
    page = opened("/account")
    page.get_by_role("heading", level=1).wait_for()
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")

    assert [one for one in barriers(page) if "button-name" in one]
