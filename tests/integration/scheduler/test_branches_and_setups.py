"""Branches, short circuits, setups and teardowns in the beat."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import SKIPPED_TASKS, ExpandArgument, ExpandDocument, TaskDocument
from treadle_metadata import clearing
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def task(task_id: str, *upstream: str, **changes: Any) -> TaskDocument:
    return TaskDocument(task_id=task_id, upstream=upstream, **changes)


def leaving_out(*task_ids: str) -> Any:
    def outcome(workload: Workload) -> dict[str, Any]:
        named = [{"key": SKIPPED_TASKS, "value": json.dumps(task_ids), "length": len(task_ids)}]
        return {"outcome": "success", "xcoms": named if workload["task_id"] == "branch" else []}

    return outcome


def failing(*task_ids: str) -> Any:
    return lambda workload: {"outcome": "failed" if workload["task_id"] in task_ids else "success"}


BRANCHED = a_dag(
    "branched",
    task("branch", can_skip=True),
    task("a", "branch"),
    task("b", "branch", trigger_rule="all_done"),
    task("c", "b"),
    task("join", "a", "c", trigger_rule="none_failed_min_one_success"),
)


def test_what_a_branch_leaves_out_is_skipped_whatever_its_rule_and_the_join_runs(scheduler: TestScheduler) -> None:
    scheduler.executor.outcome = leaving_out("a")
    scheduler.install(BRANCHED)
    run_id = scheduler.trigger("branched")
    scheduler.beats()
    states = scheduler.task_states(run_id)
    assert states["a"] == "skipped"
    assert states["join"] == "success"
    assert scheduler.run_states("branched") == {run_id: "success"}


def test_a_cleared_task_that_was_left_out_is_skipped_again_until_its_branch_is_too(
    scheduler: TestScheduler,
) -> None:
    scheduler.executor.outcome = leaving_out("a")
    scheduler.install(BRANCHED)
    run_id = scheduler.trigger("branched")
    scheduler.beats()
    clear(scheduler, "a")
    scheduler.beats()
    assert scheduler.task_states(run_id)["a"] == "skipped"
    scheduler.executor.outcome = leaving_out("b")
    clear(scheduler, "branch", include_downstream=True)
    scheduler.beats()
    states = scheduler.task_states(run_id)
    assert (states["a"], states["b"], states["c"]) == ("success", "skipped", "skipped")


def clear(scheduler: TestScheduler, task_id: str, **more: Any) -> None:
    selection = clearing.Selection(dag_id=next(iter(scheduler.all_dags())), task_ids=(task_id,), **more)
    with scheduler.database.begin() as connection:
        clearing.clear(connection, selection, now=scheduler.clock.now())


CLUSTER = a_dag(
    "cluster",
    task("s", is_setup=True),
    task("t1", "s"),
    task("t2", "t1"),
    task("t3", "t2"),
    task("td", "s", "t3", is_teardown=True, setups=("s",), trigger_rule="all_done_setup_success"),
)


def test_clearing_the_middle_runs_setup_then_task_then_teardown_and_nothing_else(scheduler: TestScheduler) -> None:
    """Case A39."""
    scheduler.install(CLUSTER)
    run_id = scheduler.trigger("cluster")
    scheduler.beats()
    assert scheduler.run_states("cluster") == {run_id: "success"}
    scheduler.executor.taken.clear()
    clear(scheduler, "t2")
    scheduler.beats()
    assert [one["task_id"] for one in scheduler.executor.taken] == ["s", "t2", "td"]


def test_a_teardown_runs_after_failed_work_and_the_run_fails(scheduler: TestScheduler) -> None:
    scheduler.executor.outcome = failing("t2")
    scheduler.install(CLUSTER)
    run_id = scheduler.trigger("cluster")
    scheduler.beats()
    states = scheduler.task_states(run_id)
    assert (states["t3"], states["td"]) == ("upstream_failed", "success")
    assert scheduler.run_states("cluster") == {run_id: "failed"}


def test_a_teardown_does_not_run_when_its_setup_failed(scheduler: TestScheduler) -> None:
    scheduler.executor.outcome = failing("s")
    scheduler.install(CLUSTER)
    run_id = scheduler.trigger("cluster")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"s": "failed"} | dict.fromkeys(("t1", "t2", "t3", "td"), "upstream_failed")


def test_a_failed_teardown_leaves_the_run_as_its_work_made_it(scheduler: TestScheduler) -> None:
    scheduler.executor.outcome = failing("td")
    scheduler.install(CLUSTER)
    run_id = scheduler.trigger("cluster")
    scheduler.beats()
    assert scheduler.task_states(run_id)["td"] == "failed"
    assert scheduler.run_states("cluster") == {run_id: "success"}


def test_each_instance_is_told_its_items_of_several_mapped_arguments_and_combinations(scheduler: TestScheduler) -> None:
    lengths = {"two": 2, "three": 3}

    def outcome(workload: Workload) -> dict[str, Any]:
        length = lengths.get(workload["task_id"])
        pushed = [{"key": "return_value", "value": "[]", "length": length}] if length else []
        return {"outcome": "success", "xcoms": pushed}

    two, three = (ExpandArgument(name, task_id=name) for name in ("two", "three"))
    both = ExpandArgument("both", combine="concat", sources=(two, three))
    shortest = ExpandArgument("shortest", combine="zip", sources=(two, three))
    expand = ExpandDocument("product", (both, shortest))
    scheduler.executor.outcome = outcome
    scheduler.install(a_dag("combined", task("three"), task("two"), task("each", "three", "two", expand=expand)))
    run_id = scheduler.trigger("combined")
    scheduler.beats()
    each = [one for one in scheduler.executor.taken if one["task_id"] == "each"]
    assert [one["expand_index"] for one in each] == [[first, second] for first in range(5) for second in range(2)]
    assert scheduler.run_states("combined") == {run_id: "success"}


def test_fail_fast_lets_teardowns_run(scheduler: TestScheduler) -> None:
    scheduler.executor.outcome = failing("t1")
    scheduler.install(replace(CLUSTER, dag_id="fast", fail_fast=True))
    run_id = scheduler.trigger("fast")
    scheduler.beats()
    states = scheduler.task_states(run_id)
    assert states == {"s": "success", "t1": "failed", "t2": "skipped", "t3": "skipped", "td": "success"}
    assert scheduler.run_states("fast") == {run_id: "failed"}
