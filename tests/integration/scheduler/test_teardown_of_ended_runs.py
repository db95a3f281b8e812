"""A run that is ended before its time: teardowns run if and only if their setups ended in success (case A40)."""

from __future__ import annotations

import random
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata import deletion, marking, run_marks
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import ConflictError
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_metadata.states import TaskState
from treadle_worker.protocol import Workload

SETUP = TaskDocument("setup", is_setup=True)
WORK = TaskDocument("work", upstream=("setup",))
LATER = TaskDocument("later", upstream=("work",))
TEARDOWN = TaskDocument(
    "teardown",
    upstream=("later", "setup"),
    is_teardown=True,
    setups=("setup",),
    trigger_rule="all_done_setup_success",
)
CLUSTER = (SETUP, WORK, LATER, TEARDOWN)


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def hold(scheduler: TestScheduler, *task_ids: str) -> list[Workload]:
    """Let the executor sit on the attempts of some tasks; the others end at once."""
    plain, held = scheduler.executor.queue, list[Workload]()

    def queue(workloads: Any) -> None:
        batch = list(workloads)
        held.extend(one for one in batch if one["task_id"] in task_ids)
        plain([one for one in batch if one["task_id"] not in task_ids])

    scheduler.executor.queue = queue  # type: ignore[method-assign]
    return held


def mark(scheduler: TestScheduler, run_id: str, state: str) -> str:
    """Mark a run, after checking that the preview says what changes at once."""
    before = scheduler.task_states(run_id)
    with scheduler.database.begin() as connection:
        shown = run_marks.plan_run_mark(connection, "d", run_id, state).changes
    found = _mark(scheduler, run_id, state)
    after = scheduler.task_states(run_id)
    assert {one["task_id"]: one["new_state"] for one in shown} == {
        task: new for task, new in after.items() if before[task] != new
    }
    return found


def _mark(scheduler: TestScheduler, run_id: str, state: str) -> str:
    with scheduler.database.begin() as connection:
        return str(marking.mark_run(connection, "d", run_id, state, now=scheduler.clock.now())["state"])


@pytest.mark.parametrize("state", ["failed", "success"])
def test_a_run_that_is_marked_under_way_tears_down_what_was_set_up_and_ends_as_marked(
    scheduler: TestScheduler, state: str
) -> None:
    scheduler.install(a_dag("d", *CLUSTER))
    run_id = scheduler.trigger("d")
    hold(scheduler, "work")
    scheduler.beats()
    assert mark(scheduler, run_id, state) == "running"
    with scheduler.database.begin() as connection, pytest.raises(ConflictError, match="once its teardowns have run"):
        marking.mark_run(connection, "d", run_id, state, now=scheduler.clock.now())
    scheduler.beats()
    assert scheduler.run_states("d") == {run_id: state}
    assert scheduler.task_states(run_id) == {
        "setup": "success",
        "work": state,
        "later": "skipped",
        "teardown": "success",
    }


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [("failed", TaskState.UPSTREAM_FAILED), ("skipped", TaskState.SKIPPED)],
)
def test_nothing_is_torn_down_when_the_setup_did_not_succeed(
    scheduler: TestScheduler, outcome: str, expected: str
) -> None:
    scheduler.executor.outcome = lambda one: {"outcome": outcome if one["task_id"] == "setup" else "success"}
    scheduler.install(a_dag("d", *CLUSTER, TaskDocument("other")))
    run_id = scheduler.trigger("d")
    hold(scheduler, "other")
    scheduler.beats()
    assert mark(scheduler, run_id, "failed") == "failed"
    scheduler.beats()
    assert scheduler.task_states(run_id)["teardown"] == expected
    assert scheduler.run_states("d") == {run_id: "failed"}


def test_nothing_is_torn_down_when_the_setup_had_not_ended(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", *CLUSTER))
    run_id = scheduler.trigger("d")
    held = hold(scheduler, "setup", "teardown")
    scheduler.beats()
    assert mark(scheduler, run_id, "failed") == "failed"
    scheduler.beats()
    assert scheduler.task_states(run_id) == {
        "setup": "failed",
        "work": "skipped",
        "later": "skipped",
        "teardown": "skipped",
    }
    assert [one["task_id"] for one in held] == ["setup"]


def test_a_teardown_under_way_goes_on_and_a_failing_one_ends_the_run_all_the_same(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    scheduler.executor.outcome = lambda one: {"outcome": "failed" if one["task_id"] == "teardown" else "success"}
    scheduler.install(a_dag("d", *CLUSTER[:3], TaskDocument(**_fields(TEARDOWN), retries=1, retry_delay_seconds=60)))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.task_states(run_id)["teardown"] == "up_for_retry"
    assert mark(scheduler, run_id, "failed") == "running"
    scheduler.beats()
    assert scheduler.run_states("d") == {run_id: "running"}
    clock.advance(timedelta(seconds=60))
    scheduler.beats()
    assert scheduler.task_states(run_id)["teardown"] == "failed"
    assert scheduler.run_states("d") == {run_id: "failed"}


def test_a_run_that_takes_too_long_tears_down_before_it_ends(scheduler: TestScheduler, clock: ManualClock) -> None:
    scheduler.install(a_dag("d", *CLUSTER, dagrun_timeout_seconds=60))
    run_id = scheduler.trigger("d")
    hold(scheduler, "work")
    scheduler.beats()
    clock.advance(timedelta(seconds=60))
    scheduler.beats()
    assert scheduler.run_states("d") == {run_id: "failed"}
    assert scheduler.task_states(run_id) == {
        "setup": "success",
        "work": "failed",
        "later": "skipped",
        "teardown": "success",
    }


def test_another_scheduler_ends_the_run_when_the_first_is_gone(
    scheduler: TestScheduler, database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler.install(a_dag("d", *CLUSTER))
    run_id = scheduler.trigger("d")
    hold(scheduler, "work")
    scheduler.beats()
    mark(scheduler, run_id, "failed")
    TestScheduler(database, settings, clock).beats()
    assert scheduler.run_states("d") == {run_id: "failed"}
    assert scheduler.task_states(run_id)["teardown"] == "success"


def test_a_run_that_is_set_back_to_queued_before_it_is_marked_tears_down_too(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", *CLUSTER))
    run_id = scheduler.trigger("d")
    hold(scheduler, "work")
    scheduler.beats()
    scheduler.set_dag("d", is_paused=True)
    mark(scheduler, run_id, "queued")
    mark(scheduler, run_id, "failed")
    scheduler.set_dag("d", is_paused=False)
    scheduler.beats()
    assert scheduler.run_states("d") == {run_id: "failed"}
    assert scheduler.task_states(run_id)["teardown"] == "success"


def test_a_run_with_teardowns_to_run_is_not_deleted_under_them(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", *CLUSTER))
    run_id = scheduler.trigger("d")
    hold(scheduler, "work")
    scheduler.beats()
    now = scheduler.clock.now()
    with pytest.raises(ConflictError, match="teardowns have to run first"), scheduler.database.begin() as connection:
        deletion.delete_run(connection, "d", run_id, end_first=True, now=now)
    mark(scheduler, run_id, "failed")
    scheduler.beats()
    with scheduler.database.begin() as connection:
        deletion.delete_run(connection, "d", run_id, end_first=True, now=now)
    assert scheduler.run_states("d") == {}


def test_a_run_under_way_without_teardowns_is_ended_and_deleted(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", TaskDocument("a"), TaskDocument("b", upstream=("a",))))
    run_id = scheduler.trigger("d")
    hold(scheduler, "a")
    scheduler.beats()
    with scheduler.database.begin() as connection, pytest.raises(ConflictError, match="is running"):
        deletion.delete_run(connection, "d", run_id, now=scheduler.clock.now())
    with scheduler.database.begin() as connection:
        deletion.delete_run(connection, "d", run_id, end_first=True, now=scheduler.clock.now())
    scheduler.beats()
    assert scheduler.run_states("d") == {}


@pytest.mark.parametrize("seed", range(8))
def test_whenever_and_however_a_run_is_ended_each_teardown_runs_if_and_only_if_its_setup_succeeded(
    scheduler: TestScheduler, seed: int
) -> None:
    """Two setups with their work; attempts end one by one in any order and way; the run is ended at some moment."""
    chance = random.Random(seed)
    scopes = [[TaskDocument(**_renamed(task, name)) for task in CLUSTER] for name in ("x", "y")]
    scheduler.install(a_dag("d", *scopes[0], *scopes[1]))
    run_id = scheduler.trigger("d")
    ways = {"setup": ["success", "success", "failed", "skipped"], "later": ["success", "failed"]}
    plain, held = scheduler.executor.queue, list[Workload]()
    scheduler.executor.outcome = lambda one: {"outcome": chance.choice(ways.get(one["task_id"][2:], ["success"]))}
    scheduler.executor.queue = held.extend  # type: ignore[method-assign, assignment]
    moment, state = chance.randrange(7), chance.choice(["failed", "success"])
    for step in range(40):
        scheduler.beats()
        if step == moment and scheduler.run_states("d")[run_id] == "running":
            with suppress(ConflictError):
                mark(scheduler, run_id, state)
        if not held:
            break
        plain([held.pop(chance.randrange(len(held)))])
    assert scheduler.run_states("d")[run_id] in ("success", "failed")
    states = scheduler.task_states(run_id)
    with scheduler.database.begin() as connection:
        sql = "SELECT task_id FROM task_instance WHERE try_number > 0"
        ran = {row["task_id"] for row in rows(connection, sql)}
    for name in ("x", "y"):
        assert (f"{name}_teardown" in ran) is (states[f"{name}_setup"] == "success"), states


def _renamed(task: TaskDocument, name: str) -> dict[str, Any]:
    return _fields(task) | {
        "task_id": f"{name}_{task.task_id}",
        "upstream": tuple(f"{name}_{one}" for one in task.upstream),
        "setups": tuple(f"{name}_{one}" for one in task.setups),
        "is_setup": task.is_setup,
    }


def _fields(task: TaskDocument) -> dict[str, Any]:
    names = ("task_id", "upstream", "is_teardown", "setups", "trigger_rule")
    return {name: getattr(task, name) for name in names}
