"""What is done with DAGs: a run with params that goes green by itself, many paused at once, and a mere Viewer."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect
from tests.support.installed import Installed
from tests.support.waiting import wait_until

Opened = Callable[..., Page]


def test_a_run_with_params_is_triggered_and_goes_green_without_a_click(opened: Opened, installed: Installed) -> None:
    page = opened("/dags")
    page.get_by_role("button", name="Trigger greetings").click()
    dialog = page.get_by_role("dialog", name="Trigger greetings")
    expect(dialog).to_contain_text("starts at once")
    dialog.get_by_label("name", exact=True).fill("Ada")
    dialog.get_by_label("How often").fill("99")
    dialog.get_by_label("tone").select_option("cold")
    dialog.get_by_label("shout").check()
    dialog.get_by_label("people").fill("ann\nben")
    dialog.get_by_role("group", name="places").get_by_label("south").check()
    dialog.get_by_role("button", name="Trigger a run").click()

    expect(dialog).to_contain_text("99 is greater than the maximum of 10")
    expect(dialog.get_by_label("How often")).to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("How often").fill("3")
    dialog.get_by_role("button", name="Trigger a run").click()

    expect(dialog).to_have_count(0)
    expect(page).to_have_url(re.compile("/dags/greetings/runs/manual"))
    expect(page.get_by_role("img", name="success").first).to_be_visible()
    made = "SELECT state, conf FROM dag_run WHERE dag_id = 'greetings' AND triggering_user = 'ann'"
    run = installed.select(made)[0]
    greeted = {"name": "Ada", "times": 3, "tone": "cold", "shout": True, "people": ["ann", "ben"]}
    assert run["conf"] == {**greeted, "places": ["north", "south"]}
    assert run["state"] == "success"


def test_all_dags_of_a_tag_are_paused_at_once(opened: Opened, installed: Installed) -> None:
    page = opened("/dags")
    page.get_by_label("Tag").select_option("night")
    expect(page.get_by_role("switch")).to_have_count(3)
    page.get_by_label("Choose all that are shown").check()
    page.get_by_role("button", name="Pause", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("listitem")).to_have_text(["night_0", "night_1", "night_2"])
    dialog.get_by_role("button", name="Pause 3 DAGs").click()

    expect(page.get_by_role("switch", name="is paused")).to_have_count(3)
    paused = "SELECT dag_id FROM dag WHERE is_paused AND dag_id LIKE 'night%%'"
    wait_until(lambda: len(installed.select(paused)) == 3)


def test_what_is_refused_of_many_is_told_by_name_and_the_rest_is_done(opened: Opened, installed: Installed) -> None:
    page = opened("/dags?tag=demo", "olga")
    page.get_by_label("Choose greetings").check()
    page.get_by_label("Choose needy").check()
    page.get_by_role("button", name="Trigger", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Trigger 2 DAGs").click()

    expect(dialog.get_by_role("alert")).to_contain_text("1 of 2 done; 1 refused")
    expect(dialog.get_by_role("listitem")).to_contain_text(["param 'must' of DAG 'needy' has no default"])
    made = "SELECT dag_id FROM dag_run WHERE dag_id IN ('greetings', 'needy') AND triggering_user = 'olga'"
    assert [run["dag_id"] for run in installed.select(made)] == ["greetings"]


def test_a_viewer_sees_no_button_that_they_may_not_press(opened: Opened) -> None:
    page = opened("/dags", "vera")

    expect(page.get_by_role("link", name="greetings", exact=True)).to_be_visible()
    for name in ("Trigger greetings", "Pause", "Delete"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
    expect(page.get_by_role("checkbox")).to_have_count(0)
    for switch in page.get_by_role("switch").all():
        expect(switch).to_be_disabled()
    page.goto("/dags/greetings")
    expect(page.get_by_role("heading", name="greetings")).to_be_visible()
    expect(page.get_by_role("button", name="Trigger")).to_have_count(0)
