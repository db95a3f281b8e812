"""Pages without a mouse; a task that did not run: which one failed, and the way there; no refusal in the console."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

from playwright.sync_api import Page, expect
from tests.support.installed import Installed

Opened = Callable[..., Page]

LUCKLESS = """
from treadle import DAG, task

with DAG("luckless"):

    @task
    def fails():
        raise ValueError("on purpose")

    @task
    def between():
        pass

    @task
    def last():
        pass

    @task
    def many(number):
        pass

    fails() >> between() >> last()
    many.expand(number=[1, 2])
"""


def test_pages_are_gone_through_by_the_keyboard_alone(opened: Opened) -> None:
    page = opened("/")
    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page).to_have_url(re.compile("/dags$"))
    expect(page.get_by_role("link", name="greetings", exact=True)).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Search DAGs")).to_be_focused()

    # What is written is no shortcut.
    page.keyboard.type("greet?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_label("Search DAGs").fill("greet")
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_label("Search DAGs").blur()
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="greetings", exact=True)).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Next row of the list")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_task_that_did_not_run_names_the_one_that_failed(opened: Opened, installed: Installed) -> None:
    installed.add("luckless.py", LUCKLESS)
    run_id = installed.run_of("luckless")
    assert installed.end_of("luckless", run_id) == "failed"
    run = f"/dags/luckless/runs/{quote(run_id, safe='')}"
    page = opened(f"{run}/tasks/last")
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text) if message.type == "error" else None)

    expect(page.get_by_role("note")).to_contain_text("what failed: fails")
    expect(page.get_by_role("main")).not_to_contain_text("Not started yet")
    page.get_by_role("link", name="Go to fails").click()
    expect(page.get_by_role("main")).to_contain_text("on purpose")
    page.goto(f"{run}/tasks/many")
    expect(page.get_by_role("table", name="Instances").get_by_role("row")).to_have_count(3)
    assert told == []
