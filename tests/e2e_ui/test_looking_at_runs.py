"""What somebody sees who looks at a run: states that change by themselves, and the part of its time that they chose."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Page, expect
from tests.support.installed import Installed

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
