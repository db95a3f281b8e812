"""``dags why``, ``tasks why`` and ``dags diff`` on a real database."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.command_line import CommandLine
from tests.support.holding import hold
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.versions import add_version

from treadle.document import DagDocument, TaskDocument
from treadle_metadata import processes

SALES = a_dag("sales", TaskDocument("extract"), TaskDocument("load", upstream=("extract",)))


@pytest.fixture
def sales(scheduler: TestScheduler) -> DagDocument:
    """DAG sales without a schedule, and a scheduler that is alive."""
    scheduler.install(SALES)
    with scheduler.database.begin() as connection:
        processes.register(connection, "scheduler", scheduler.clock.now(), 600)
    return SALES


def test_why_prints_one_line(line: CommandLine, sales: DagDocument) -> None:
    assert line.ok("dags", "why", "sales") == (
        "DAG 'sales' has no schedule, it runs when triggered: treadle dags trigger sales\n"
    )


def test_why_of_a_run_and_of_a_task_names_what_is_in_the_way(
    line: CommandLine, sales: DagDocument, scheduler: TestScheduler
) -> None:
    hold(scheduler, "extract")
    scheduler.trigger("sales", run_id="first")
    scheduler.beats()
    assert line.ok("dags", "why", "sales", "first").startswith("extract runs since ")
    waits = "load waits for 1 of 1 upstream task: all must succeed (all_success); unfinished: extract (running)"
    assert line.ok("tasks", "why", "sales", "load") == f"{waits}\n"
    assert line.json("tasks", "why", "sales", "load", "first") == {
        "dag_id": "sales",
        "run_id": "first",
        "task_id": "load",
        "reason": "trigger_rule",
        "sentence": waits,
        "blocked_by": {"kind": "task_instance", "id": "sales/first/extract"},
        "until": None,
    }


def test_why_of_a_paused_dag_says_how_to_go_on(line: CommandLine, sales: DagDocument) -> None:
    line.ok("dags", "pause", "sales")
    assert line.json("dags", "why", "sales")["reason"] == "paused"
    assert "treadle dags unpause sales" in line.ok("dags", "why", "sales")


def test_why_of_a_map_index_that_does_not_exist_fails(
    line: CommandLine, sales: DagDocument, scheduler: TestScheduler
) -> None:
    scheduler.trigger("sales", run_id="first")
    scheduler.beats()
    assert "load[3]" in line.fails("tasks", "why", "sales", "load", "first", "--map-index", "3")


def test_diff_shows_what_came_went_and_changed(line: CommandLine, sales: DagDocument, scheduler: TestScheduler) -> None:
    changed = replace(
        SALES,
        max_active_runs=3,
        tasks=(replace(SALES.tasks[0], retries=2), TaskDocument("report", upstream=("extract",))),
    )
    with scheduler.database.begin() as connection:
        add_version(connection, changed, now=scheduler.clock.now(), code="dag = 2\n")
    assert line.ok("dags", "diff", "sales").splitlines() == [
        "+ task report",
        "- task load",
        "+ edge extract -> report",
        "- edge extract -> load",
        "~ task extract: retries: 0 -> 2",
        "~ dag: max_active_runs: null -> 3",
    ]
    assert line.ok("dags", "diff", "sales", "1", "2", "--source").endswith("+dag = 2\n")
    assert line.json("dags", "diff", "sales", "2", "1")["tasks_added"] == ["load"]
    same = line.run("dags", "diff", "sales", "2", "2")
    assert same.stdout == "no difference in tasks, edges, arguments or schedule\n"


def test_diff_of_a_dag_with_one_version_says_so(line: CommandLine, sales: DagDocument) -> None:
    assert "has only version 1" in line.fails("dags", "diff", "sales")
