"""The way in: a right and a wrong password, the address that was asked for, and the way out."""

from __future__ import annotations

from playwright.sync_api import Page, expect
from tests.support.browsing import log_in


def test_somebody_with_a_password_gets_the_page_that_was_asked_for_and_out_again(page: Page) -> None:
    page.goto("/dags?tag=night")
    log_in(page, "ann")

    expect(page.get_by_role("link", name="night_2", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="greetings", exact=True)).to_have_count(0)

    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("button", name="Log in", exact=True)).to_be_visible()


def test_a_wrong_password_is_told_in_the_server_s_sentence(page: Page) -> None:
    page.goto("/")
    log_in(page, "ann", "not her password")

    expect(page.get_by_role("alert")).to_contain_text("The name or the password is wrong")
    expect(page.get_by_role("navigation", name="Pages")).to_have_count(0)
