"""Values that no machine can hold and names that nobody knows cost their own task or run, never the scheduler."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from bench.instant import InstantExecutor
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.statements import recorded_statements

from treadle.document import ExpandArgument, ExpandDocument, TaskDocument
from treadle_executors.executor import ExecutorEvent
from treadle_metadata import clearing
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_scheduler.beat import BEAT
from treadle_scheduler.context import Context, Done
from treadle_scheduler.duties.collect_reports import collect_reports
from treadle_scheduler.loop import Loop
from treadle_worker.protocol import Workload


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def test_a_time_limit_beyond_all_calendars_is_none(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", TaskDocument("a"), dagrun_timeout_seconds=timedelta.max.total_seconds()))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.run_states("d") == {run_id: "success"}


def test_more_retries_and_slots_than_a_column_holds_do_no_harm(scheduler: TestScheduler, clock: ManualClock) -> None:
    wide = TaskDocument("wide", pool="wide", pool_slots=2**40)
    scheduler.install(a_dag("d", TaskDocument("a", retries=2**40), wide))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    for _ in range(2):
        with scheduler.database.begin() as connection:
            clearing.clear(connection, clearing.Selection(dag_id="d", task_ids=("a",)), now=clock.now())
        scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "success", "wide": "scheduled"}


def test_slots_in_use_may_add_up_to_more_than_an_integer(scheduler: TestScheduler) -> None:
    with scheduler.database.begin() as connection:
        execute(connection, "INSERT INTO slot_pool (name, slots) VALUES ('endless', -1)")
    three = ExpandDocument("product", (ExpandArgument("x", length=3),))
    scheduler.install(a_dag("d", TaskDocument("t", pool="endless", pool_slots=2**31 - 1, expand=three)))
    run_id = scheduler.trigger("d")
    scheduler.executor.queue = scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]
    scheduler.beats()
    scheduler.beats()
    assert set(scheduler.task_states(run_id).values()) == {"queued"}


def test_an_unknown_executor_fails_its_task_with_the_names_of_those_there_are(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", TaskDocument("a", executor="kubernets"), TaskDocument("b")))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "failed", "b": "success"}
    with scheduler.database.begin() as connection:
        (attempt,) = rows(connection, "SELECT error FROM task_attempt WHERE outcome = 'failed'")
    assert attempt["error"]["message"] == "the task names the executor 'kubernets'; this scheduler has instant"


def test_tasks_go_to_the_executors_that_they_name_and_a_misspelt_one_is_told_the_nearest(
    scheduler: TestScheduler,
) -> None:
    other = InstantExecutor(scheduler.database, scheduler.executor.settings, clock=scheduler.clock)
    scheduler.context.executors = {**scheduler.context.executors, "celery": other}
    tasks = (TaskDocument("a", executor="celry"), TaskDocument("b", executor="celery"), TaskDocument("c"))
    scheduler.install(a_dag("d", *tasks))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "failed", "b": "success", "c": "success"}
    assert [one["task_id"] for one in other.taken] == ["b"]
    with scheduler.database.begin() as connection:
        (attempt,) = rows(connection, "SELECT error FROM task_attempt WHERE outcome = 'failed'")
    assert attempt["error"]["message"] == (
        "the task names the executor 'celry'; this scheduler has celery, instant; did you mean 'celery'?"
    )


def test_a_mapping_over_more_than_anybody_can_run_fails_and_says_so(scheduler: TestScheduler) -> None:
    arguments = (ExpandArgument("x", length=65_536), ExpandArgument("y", length=2))
    scheduler.install(a_dag("d", TaskDocument("each", expand=ExpandDocument("product", arguments))))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"each": "failed"}
    with scheduler.database.begin() as connection:
        (each,) = rows(connection, "SELECT waiting_for FROM task_instance")
    assert each["waiting_for"] == (
        "cannot expand 'each' to 131072 instances: the setting max_map_length allows 65536; "
        "raise it, or let each instance handle several items"
    )


@pytest.mark.parametrize("delay", [1e300, float("nan"), -5.0])
def test_a_retry_delay_that_no_calendar_has_is_cut(scheduler: TestScheduler, delay: float) -> None:
    scheduler.executor.outcome = lambda _: {"outcome": "failed", "retry_delay_seconds": delay}
    scheduler.install(a_dag("d", TaskDocument("a", retries=1, retry_delay_seconds=60)))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.task_states(run_id)["a"] in ("up_for_retry", "failed")


def test_an_attempt_lost_before_it_started_is_not_charged(scheduler: TestScheduler) -> None:
    """The runner host died with attempts that it had been handed and had not begun."""
    scheduler.install(a_dag("d", TaskDocument("a")))
    run_id = scheduler.trigger("d")
    plain, scheduler.executor.queue = scheduler.executor.queue, scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]
    scheduler.beats()
    lost: list[Any] = [ExecutorEvent("lost", UUID(scheduler.executor.taken[0]["attempt_id"]), "the host died")]
    scheduler.executor.events = lambda: [lost.pop()] if lost else []  # type: ignore[method-assign]
    scheduler.executor.queue = plain  # type: ignore[method-assign]
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "success"}
    assert [one["try_number"] for one in scheduler.executor.taken] == [1, 1]


def test_attempts_that_are_lost_together_are_taken_back_in_the_same_statements_as_one(scheduler: TestScheduler) -> None:
    scheduler.executor.queue = scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]
    counts = []
    for dag_id, number in (("one", 1), ("many", 12)):
        scheduler.executor.taken.clear()
        scheduler.install(a_dag(dag_id, *(TaskDocument(f"t{index}") for index in range(number))))
        run_id = scheduler.trigger(dag_id)
        scheduler.beats()
        lost = [ExecutorEvent("lost", UUID(one["attempt_id"]), "the host died") for one in scheduler.executor.taken]
        with pytest.MonkeyPatch.context() as patch, recorded_statements(scheduler.database) as seen:
            patch.setattr(scheduler.executor, "events", lambda lost=lost: lost)
            collect_reports(scheduler.context)
        assert set(scheduler.task_states(run_id).values()) == {"scheduled"}
        counts.append(len(seen))
    assert counts[0] == counts[1]


def test_a_rejected_attempt_is_charged_so_that_it_does_not_come_back_for_ever(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", TaskDocument("a")))
    run_id = scheduler.trigger("d")
    scheduler.executor.queue = scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]
    scheduler.beats()
    event = ExecutorEvent("rejected", UUID(scheduler.executor.taken[0]["attempt_id"]), "its log path is no path")
    scheduler.executor.events = lambda: [event]  # type: ignore[method-assign]
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "failed"}


def test_an_edit_that_leaves_the_dag_as_it_was_runs_the_new_code(scheduler: TestScheduler) -> None:
    """The version stays, its file's hash does not: a runner host would go on with what it has imported."""
    scheduler.install(a_dag("d", TaskDocument("a")))
    scheduler.trigger("d")
    scheduler.beats()
    with scheduler.database.begin() as connection:
        execute(connection, "UPDATE dag_version SET file_hash = 'edited'")
        execute(connection, "UPDATE dag SET file = 'moved.py'")
    scheduler.trigger("d")
    scheduler.beats()
    assert [(one["file"], one["file_hash"]) for one in scheduler.executor.taken] == [
        ("d.py", ""),
        ("moved.py", "edited"),
    ]


def test_a_duty_that_fails_is_logged_and_the_others_go_on(
    scheduler: TestScheduler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(context: Context) -> Done:
        raise RuntimeError("planted")

    scheduler.install(a_dag("d", TaskDocument("a")))
    run_id = scheduler.trigger("d")
    scheduler.loop = Loop(scheduler.context, (broken, *BEAT))
    scheduler.beats()
    assert scheduler.run_states("d") == {run_id: "success"}
    assert "broken failed" in caplog.text
    assert "planted" in caplog.text


class Broken(InstantExecutor):
    """An executor of a third party with a fault."""

    name = "broken"

    def queue(self, workloads: Iterable[Workload]) -> None:
        raise ConnectionError(f"no broker for {len(list(workloads))}")


def test_an_executor_that_fails_to_take_attempts_over_keeps_none_from_another(
    scheduler: TestScheduler, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Broken(scheduler.database, scheduler.context.settings, clock=clock)
    scheduler.context.executors = {"broken": broken, "instant": scheduler.executor}
    tasks = [TaskDocument("bad", executor="broken"), TaskDocument("good"), TaskDocument("odd", executor="nowhere")]
    scheduler.install(a_dag("d", *tasks))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"bad": "queued", "good": "success", "odd": "failed"}
    assert "no broker" in caplog.text
    scheduler.context.executors = {"broken": scheduler.executor, "instant": scheduler.executor}
    clock.advance(timedelta(seconds=scheduler.context.settings.lease_seconds + 1))
    scheduler.beats()
    assert scheduler.task_states(run_id)["bad"] == "success"
