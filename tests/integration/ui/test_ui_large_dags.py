"""Large and old things on the pages: many groups and versions, mapped tasks, Gantt charts of older versions, ETA."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.statements import recorded_statements
from tests.support.versions import add_version
from tests.support.web import Client

from treadle.document import DagDocument, GroupDocument, TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.queries.ui.gantt import critical_path
from treadle_metadata.queries.ui.structures import rows_of
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute
from treadle_worker.protocol import Workload


def test_a_structure_of_5000_tasks_in_150_groups_is_read_once_whatever_the_number_of_versions(
    admin: Client, scheduler: TestScheduler, database: Database
) -> None:
    document = _grouped(tasks=5000, groups=150)
    scheduler.install(document)
    first = admin.json("/ui/dags/large/graph")
    assert len([node for node in first["nodes"] if node["kind"] == "group"]) == 150
    assert all(node["parent"] is not None for node in first["nodes"] if node["kind"] == "task")
    with recorded_statements(database) as seen:
        assert admin.json("/ui/dags/large/graph") == first
    assert not any("document" in sql for sql, _ in seen)


def _grouped(tasks: int, groups: int) -> DagDocument:
    listed = tuple(
        TaskDocument(
            task_id=f"g{n % groups}.t{n}",
            group_id=f"g{n % groups}",
            upstream=(f"g{n - 1}.t{n - 1}",) if 0 < n < groups else (),
        )
        for n in range(tasks)
    )
    return a_dag("large", *listed, groups=tuple(GroupDocument(f"g{n}") for n in range(groups)))


def test_each_group_stands_before_its_tasks_and_each_task_once() -> None:
    rows = rows_of(_grouped(tasks=500, groups=15))
    seen: set[str] = set()
    for row in rows:
        assert row.parent is None or row.parent in seen
        assert row.id not in seen
        seen.add(row.id)
    assert len(rows) == 515


def test_a_task_mapped_10000_fold_is_a_few_rows_of_the_grid(
    admin: Client, scheduler: TestScheduler, database: Database
) -> None:
    scheduler.install(a_dag("mapped", TaskDocument(task_id="many")))
    scheduler.trigger("mapped", run_id="r")
    with database.begin() as connection:
        execute(
            connection,
            """
            INSERT INTO task_instance (month, dag_run_id, dag_id, task_id, map_index, state, operator, pool, pool_slots,
                                       queue, priority_weight, ended_at)
            SELECT month, id, dag_id, 'many', n, CASE WHEN n = 77 THEN 'failed' ELSE 'success' END, 'x', 'default_pool',
                   1, 'default', 1, now()
            FROM dag_run, generate_series(0, 9999) AS n
            """,
        )
    (run,) = admin.json("/ui/dags/mapped/grid")["runs"]
    assert (run["states"], run["counts"]) == (["failed"], {"many": {"success": 9999, "failed": 1}})
    failed = admin.json("/ui/dags/mapped/runs/r/tasks/many/instances?state=failed")
    assert [one["map_index"] for one in failed["instances"]] == [77]


@pytest.fixture
def retried(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    """A scheduler whose task b fails at its first try."""

    def outcome(workload: Workload) -> dict[str, Any]:
        if workload["task_id"] == "b" and workload["try_number"] == 1:
            return {"outcome": "failed", "error": {"kind": "exception", "type": "ValueError", "message": "no"}}
        return {"outcome": "success"}

    return TestScheduler(database, settings, clock, outcome)


def test_the_gantt_chart_of_an_older_version_has_its_tasks_and_a_bar_for_each_try(
    admin: Client, retried: TestScheduler, database: Database, clock: ManualClock
) -> None:
    tasks = [
        TaskDocument(task_id="a"),
        TaskDocument(task_id="b", upstream=("a",), retries=1, retry_delay_seconds=0),
        TaskDocument(task_id="c", upstream=("b",)),
    ]
    retried.install(a_dag("abc", *tasks))
    retried.trigger("abc", run_id="old")
    retried.beats()
    with database.begin() as connection:
        add_version(connection, a_dag("abc", tasks[0], TaskDocument(task_id="c", upstream=("a",))), now=clock.now())
    gantt = admin.json("/ui/dags/abc/runs/old/gantt")
    assert [(bar["task_id"], bar["try_number"], bar["state"]) for bar in gantt["bars"]] == [
        ("a", 1, "success"),
        ("b", 1, "failed"),
        ("b", 2, "success"),
        ("c", 1, "success"),
    ]
    assert all(bar["queued_at"] and bar["started_at"] for bar in gantt["bars"])
    assert (gantt["version_number"], [row["id"] for row in gantt["rows"]]) == (1, ["a", "b", "c"])
    assert gantt["critical_path"] == ["a", "b", "c"]


def test_the_critical_path_goes_through_what_ended_last(clock: ManualClock) -> None:
    begin = clock.now()

    def bar(task_id: str, start: int, end: int) -> dict[str, Any]:
        at = {"started_at": begin + timedelta(seconds=start), "ended_at": begin + timedelta(seconds=end)}
        return {"task_id": task_id, "instance_ended_at": at["ended_at"], **at}

    bars = [bar("a", 0, 1), bar("b", 1, 11), bar("c", 1, 61), bar("d", 61, 62)]
    assert critical_path(bars, {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}) == ["a", "c", "d"]
    # What was skipped had to wait too: the path goes through it to what ran.
    skipped = bar("d", 61, 61) | {"started_at": None, "ended_at": None}
    upstream = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c"), "e": ("a", "d")}
    assert critical_path([*bars[:3], skipped, bar("e", 62, 63)], upstream) == ["a", "c", "e"]


def test_a_run_under_way_is_expected_to_take_the_median_of_the_last_ones(
    admin: Client, sales: str, scheduler: TestScheduler, database: Database, clock: ManualClock
) -> None:
    with database.begin() as connection:
        execute(connection, "UPDATE dag_run SET ended_at = started_at + interval '90 seconds'")
    clock.advance(timedelta(minutes=5))
    scheduler.trigger("sales", run_id="two")
    with database.begin() as connection:
        execute(
            connection,
            "UPDATE dag_run SET state = 'running', started_at = %(now)s WHERE run_id = 'two'",
            {"now": clock.now()},
        )
    run = admin.json(f"{sales}/runs/two")
    gantt = admin.json(f"{sales}/runs/two/gantt")
    assert run["expected_end_at"] == gantt["expected_end_at"] == _later(run["started_at"], 90)
    assert admin.json(f"{sales}/runs/one")["expected_end_at"] is None


def _later(moment: str, seconds: int) -> str:
    at = datetime.fromisoformat(moment) + timedelta(seconds=seconds)
    return at.isoformat().replace("+00:00", "Z")
