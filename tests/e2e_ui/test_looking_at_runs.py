"""What somebody sees who looks at a run: states that change by themselves, and the part of its time that they chose."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Page, expect
from tests.support.installed import Installed

from treadle_metadata.statements import execute

Opened = Callable[..., Page]

GATED = """
import time
from pathlib import Path

from treadle import DAG, task

with DAG("gated"):

    @task
    def waits():
        while not Path({gate!r}).exists():
            time.sleep(0.05)

    @task
    def after():
        pass

    waits() >> after()
"""


def test_graph_and_gantt_follow_a_run_and_the_gantt_is_zoomed(
    opened: Opened, installed: Installed, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    installed.add("gated.py", GATED.format(gate=str(gate)))
    installed.wait_for_dag("gated")
    run = f"/dags/gated/runs/{quote(installed.run_of('gated'), safe='')}"
    graph = opened(f"{run}/graph")
    expect(graph.get_by_label(re.compile("Task waits.*running"))).to_be_visible()
    gantt = graph.context.new_page()
    gantt.goto(f"{run}/gantt")
    chart = gantt.get_by_role("region", name="Gantt chart of the run")
    expect(chart.get_by_label("waits, try 1: running")).to_be_visible()

    gate.touch()

    expect(chart.get_by_label("after, try 1: success")).to_be_visible()
    expect(chart.get_by_label("waits, try 1: success")).to_be_visible()
    expect(graph.get_by_label(re.compile("Task after.*success"))).to_be_visible()
    _zooms(gantt)


def _zooms(page: Page) -> None:
    whole = page.get_by_role("button", name="Whole run")
    expect(whole).to_be_disabled()
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile(r"from=[\d.]+&to=[\d.]+"))
    expect(whole).to_be_enabled()
    zoomed = page.url
    page.keyboard.press("ArrowRight")
    expect(page).not_to_have_url(zoomed)
    whole.click()
    expect(page).not_to_have_url(re.compile("from="))
    box = page.get_by_role("region", name="Gantt chart of the run").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 12, steps=3)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"from=[\d.]+&to=[\d.]+"))


def test_the_grid_is_looked_at_from_long_ago_and_back_leads_to_the_newest(opened: Opened, installed: Installed) -> None:
    with installed.database.begin() as connection:
        execute(connection, _LONG_AGO, {"dag_id": "night_1"})
    page = opened("/dags/night_1")
    grid, until = page.get_by_role("region", name="Runs by tasks"), page.get_by_label("Runs until")
    head = grid.get_by_role("button", name=re.compile(r"^Run old_"))
    expect(head.first).to_have_accessible_name(re.compile("old_1:"))

    until.fill("2020-05-04T10:30")
    expect(head.first).to_have_accessible_name(re.compile("2020-05-04 10:30 UTC"))
    expect(page).to_have_url(re.compile("until=2020-05-04T10%3A31"))
    page.reload()
    expect(head.first).to_have_accessible_name(re.compile("2020-05-04 10:30 UTC"))
    page.go_back()
    expect(head.first).to_have_accessible_name(re.compile("old_1:"))
    expect(until).to_have_value("")

    page.goto("/dags/night_1?run=old_1500")
    page.get_by_role("link", name="Show the runs until it").click()
    chosen = grid.get_by_role("button", name=re.compile("Run old_1500:"), pressed=True)
    expect(chosen).to_be_in_viewport()
    page.get_by_role("button", name="Newest").click()
    expect(page).not_to_have_url(re.compile("until="))

    page.goto("/dags/night_1/runs?day=2020-05-04&zone=UTC")
    page.get_by_role("link", name="Until this day in the grid").click()
    expect(head.first).to_have_accessible_name(re.compile("2020-05-04 23:50 UTC"))


# One each ten minutes until May 2020 has ended.
_LONG_AGO = """
    INSERT INTO dag_run (dag_id, run_id, version_id, month, run_type, state, run_after, queued_at, started_at, ended_at,
                         triggered_by)
    SELECT dag_id, 'old_' || n, version_id, date_trunc('month', at)::date, 'scheduled', 'success', at, at, at,
           at + interval '1 minute', 'timetable'
    FROM dag, generate_series(1, 5000) AS n
    CROSS JOIN LATERAL (SELECT '2020-06-01 00:00+00'::timestamptz - n * interval '10 minutes' AS at) AS moment
    WHERE dag_id = %(dag_id)s
"""


def test_a_page_whose_code_cannot_be_fetched_says_so_and_is_there_once_the_server_is(opened: Opened) -> None:
    page = opened("/dags")
    page.context.set_offline(True)
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Timeline").click()
    refused = page.get_by_role("alert")
    expect(refused.get_by_role("heading")).to_have_text("No connection to the server")
    # The browser's own page of an error would have neither.
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()

    page.context.set_offline(False)
    expect(page.get_by_role("heading", name="Timeline", level=1)).to_be_visible()
    expect(refused).to_have_count(0)
