"""Pages of much: a graph of 300 tasks, the Gantt chart of a run with retries, a log of 100,000 lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from bench.documents import install
from playwright.sync_api import Page, expect
from tests.support.installed import Installed
from tests.support.waiting import wait_until

from treadle.document import DagDocument, GroupDocument, TaskDocument

Opened = Callable[..., Page]

FLAKY = """
from treadle import DAG, task

with DAG("flaky", default_args={"retries": 2, "retry_delay": 0}):

    @task
    def first():
        pass

    @task
    def second(try_number):
        assert try_number > 1, "the first try always fails"

    @task
    def third():
        for number in range(100_000):
            print("line", number)

    first() >> second() >> third()
"""

WIDE = """
from treadle import DAG, EmptyOperator

with DAG("wide"):
    first = EmptyOperator(task_id="first")
    for one in range(299):
        first >> EmptyOperator(task_id=f"t{one}")
"""


@pytest.fixture(scope="module")
def flaky_run(installed: Installed) -> str:
    """The address of a run that succeeded after a retry, and wrote a long log; ``wide`` is there as well."""
    installed.add("flaky.py", FLAKY)
    installed.add("wide.py", WIDE)
    run_id = installed.run_of("flaky")
    assert installed.end_of("flaky", run_id) == "success"
    installed.wait_for_dag("wide")
    return f"/dags/flaky/runs/{quote(run_id, safe='')}"


def test_a_graph_of_300_tasks_is_drawn_and_searched(opened: Opened, flaky_run: str) -> None:
    page = opened("/dags/wide/graph")
    expect(page.get_by_role("button", name="Task t").first).to_be_visible()
    for task_id in ("first", "t298"):
        page.get_by_label("Find a task").fill(task_id)
        expect(page.get_by_role("button", name=f"Task {task_id}", exact=True)).to_be_in_viewport()


def test_a_graph_of_12000_tasks_opens_with_its_groups_closed_and_one_is_opened(
    opened: Opened, installed: Installed
) -> None:
    names = [f"group_{number}" for number in range(120)]
    tasks = [TaskDocument(f"{name}.t{one}", group_id=name) for name in names for one in range(100)]
    with installed.database.begin() as connection:
        document = DagDocument("groups", groups=tuple(map(GroupDocument, names)), tasks=tuple(tasks))
        install(connection, document, now=datetime.now(UTC))
    page = opened("/dags/groups/graph")
    closed = page.get_by_role("button", name=re.compile("^Group "))
    expect(closed.first).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Task "))).to_have_count(0)
    page.get_by_label("Find a task").fill("group_7.t99")
    expect(page.get_by_role("button", name="Task group_7.t99", exact=True)).to_be_in_viewport()
    page.reload()
    expect(closed.first).to_be_visible()


def test_the_gantt_chart_tells_each_try_of_a_task(opened: Opened, flaky_run: str) -> None:
    page = opened(f"{flaky_run}/gantt")
    chart = page.get_by_role("region", name="Gantt chart of the run")
    expect(chart).to_contain_text("second")
    expect(chart.get_by_label("second, try 1: failed")).to_be_visible()
    expect(chart.get_by_label("second, try 2: success")).to_be_visible()


def test_a_log_of_100_000_lines_opens_at_its_end_and_is_searched_on_the_server(opened: Opened, flaky_run: str) -> None:
    page = opened(f"{flaky_run}/tasks/third")
    lines = page.get_by_role("region", name="Lines of the log", exact=True)
    expect(lines).to_contain_text("line 99999")
    page.get_by_label("Search", exact=True).fill("line 51234")
    expect(page.get_by_role("search").get_by_role("status")).to_have_text(re.compile("1"))
    page.get_by_role("button", name="Next match").click()
    expect(lines).to_contain_text("line 51234")


def test_a_run_is_cleared_after_its_effect_was_shown_and_goes_green_again(
    opened: Opened, installed: Installed, flaky_run: str
) -> None:
    page = opened(flaky_run)
    page.get_by_role("button", name="Clear…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("second")
    dialog.get_by_role("button", name="Clear 3 task instances").click()

    expect(dialog).to_have_count(0)
    done = "SELECT 1 FROM dag_run WHERE dag_id = 'flaky' AND state = 'success' AND clear_number > 0"
    wait_until(lambda: bool(installed.select(done)), 30)
    expect(page.get_by_role("main").get_by_role("img", name="success").first).to_be_visible()


def test_a_backfill_makes_just_the_runs_that_were_shown(opened: Opened, installed: Installed) -> None:
    page = opened("/dags/night_0")
    page.get_by_role("button", name="Backfill", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("From").fill("2026-02-01")
    dialog.get_by_label("To").fill("2026-02-04")
    expect(dialog).to_contain_text("4 dates in this range: 4 get a run")
    dialog.get_by_role("button", name="Make 4 runs").click()

    expect(dialog).to_have_count(0)
    made = "SELECT logical_date::date::text AS day FROM dag_run WHERE dag_id = 'night_0' AND run_type = 'backfill'"
    days = {row["day"] for row in installed.select(made)}
    assert days == {"2026-02-01", "2026-02-02", "2026-02-03", "2026-02-04"}
