"""What people do to runs under way: clear, mark, cancel, pause, delete. Nothing hangs, nothing starts unasked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.marks import mark_task
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata import backfills, clearing, deletion, execution, marking
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_scheduler.duties.queue_tasks import queue_tasks
from treadle_worker.protocol import Workload

DAILY = ScheduleDocument(kind="cron", expressions=("0 0 * * *",), style="interval")


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def hold(scheduler: TestScheduler) -> Any:
    """Let the executor keep what it is given; return what runs it."""
    plain = scheduler.executor.queue
    scheduler.executor.queue = scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]

    def run(workloads: Iterable[Workload]) -> None:
        taken = scheduler.executor.taken[:]
        plain(workloads)
        scheduler.executor.taken = taken

    return run


def release(scheduler: TestScheduler, run: Any) -> None:
    """Let the executor run what it is given from now on."""

    def queue(workloads: Iterable[Workload]) -> None:
        batch = list(workloads)
        scheduler.executor.taken += batch
        run(batch)

    scheduler.executor.queue = queue  # type: ignore[method-assign]


def clear(scheduler: TestScheduler, dag_id: str, **selection: Any) -> None:
    with scheduler.database.begin() as connection:
        clearing.clear(connection, clearing.Selection(dag_id=dag_id, **selection), now=scheduler.clock.now())


def report(workload: Workload, now: datetime, **changes: Any) -> dict[str, Any]:
    return {
        "attempt_id": workload["attempt_id"],
        "task_instance_id": workload["task_instance_id"],
        "month": workload["month"],
        "hostname": "h",
        "started_at": now.isoformat(),
        "ended_at": now.isoformat(),
        "outcome": "success",
        "xcoms": [],
    } | changes


def attempts(scheduler: TestScheduler) -> list[tuple[int, str | None]]:
    with scheduler.database.begin() as connection:
        found = rows(connection, "SELECT try_number, outcome FROM task_attempt ORDER BY try_number, attempt_id")
    return [(row["try_number"], row["outcome"]) for row in found]


def test_a_queued_attempt_that_is_cleared_may_not_start_and_leaves_nothing_open(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    scheduler.install(a_dag("d", TaskDocument("a", retries=1)))
    run_id = scheduler.trigger("d")
    run = hold(scheduler)
    scheduler.beats()
    old = scheduler.executor.taken[0]
    clear(scheduler, "d")
    with scheduler.database.begin() as connection:
        (answer,) = execution.record_starts(
            connection, [report(old, clock.now())], now=clock.now(), lease_until=clock.now()
        )
        (row,) = rows(connection, "SELECT lease_until, attempt_id, try_number, max_tries FROM task_instance")
    assert not answer["accepted"]
    assert dict(row) == {"lease_until": None, "attempt_id": None, "try_number": 0, "max_tries": 1}
    release(scheduler, run)
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "success"}
    assert attempts(scheduler) == [(1, "success")]


@pytest.mark.parametrize("mark", ["instance", "run"])
def test_a_queued_attempt_that_is_marked_leaves_nothing_open(scheduler: TestScheduler, mark: str) -> None:
    scheduler.install(a_dag("d", TaskDocument("a")))
    run_id = scheduler.trigger("d")
    hold(scheduler)
    scheduler.beats()
    with scheduler.database.begin() as connection:
        if mark == "run":
            marking.mark_run(connection, "d", run_id, "success", now=scheduler.clock.now())
        else:
            mark_task(connection, "d", run_id, "a", "success", now=scheduler.clock.now())
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "success"}
    assert scheduler.run_states("d") == {run_id: "success"}
    assert attempts(scheduler) == []


def test_a_running_attempt_that_is_cleared_is_ended_and_what_it_pushed_is_not_kept(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    scheduler.install(a_dag("d", TaskDocument("a"), TaskDocument("b", upstream=("a",))))
    run_id = scheduler.trigger("d")
    run = hold(scheduler)
    scheduler.beats()
    now, old = clock.now(), scheduler.executor.taken[0]
    with scheduler.database.begin() as connection:
        execution.record_starts(connection, [report(old, now)], now=now, lease_until=now + timedelta(seconds=30))
    clear(scheduler, "d")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "restarting", "b": "none"}
    release(scheduler, run)
    pushed = [{"key": "return_value", "value": "1", "length": None}]
    with scheduler.database.begin() as connection:
        assert execution.record_heartbeats(connection, [report(old, now)], lease_until=now) == set()
        execution.record_finishes(connection, [report(old, now, xcoms=pushed)], now=now)
        assert rows(connection, "SELECT key FROM xcom") == []
    scheduler.beats()
    assert scheduler.run_states("d") == {run_id: "success"}
    assert [(one["task_id"], one["try_number"]) for one in scheduler.executor.taken] == [("a", 1), ("a", 2), ("b", 1)]
    assert attempts(scheduler) == [(1, "success"), (1, "success"), (2, "success")]


def test_a_cleared_attempt_whose_host_dies_too_starts_over(scheduler: TestScheduler, clock: ManualClock) -> None:
    scheduler.install(a_dag("d", TaskDocument("a")))
    run_id = scheduler.trigger("d")
    run = hold(scheduler)
    scheduler.beats()
    now = clock.now()
    with scheduler.database.begin() as connection:
        start = report(scheduler.executor.taken[0], now)
        execution.record_starts(connection, [start], now=now, lease_until=now + timedelta(seconds=30))
    clear(scheduler, "d")
    release(scheduler, run)
    clock.advance(timedelta(seconds=31))
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "success"}
    assert attempts(scheduler) == [(1, "failed"), (2, "success")]


def test_an_instance_that_waits_for_its_retry_is_cleared_and_gets_all_its_tries_again(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    scheduler.executor.outcome = lambda _: {"outcome": "failed"}
    scheduler.install(a_dag("d", TaskDocument("a", retries=1, retry_delay_seconds=60)))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "up_for_retry"}
    clear(scheduler, "d")
    for _ in range(4):
        scheduler.beats()
        clock.advance(timedelta(seconds=60))
    assert scheduler.task_states(run_id) == {"a": "failed"}
    assert [one["try_number"] for one in scheduler.executor.taken] == [1, 2, 3]


def test_what_waits_in_a_run_set_back_to_queued_does_not_start(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", TaskDocument("a"), TaskDocument("b"), max_active_tasks=1))
    run_id = scheduler.trigger("d")
    run = hold(scheduler)
    scheduler.beats()
    assert sorted(scheduler.task_states(run_id).values()) == ["queued", "scheduled"]
    with scheduler.database.begin() as connection:
        marking.mark_run(connection, "d", run_id, "queued", now=scheduler.clock.now())
    run(scheduler.executor.taken[:])
    assert queue_tasks(scheduler.context).count == 0
    release(scheduler, run)
    scheduler.beats()
    assert scheduler.run_states("d") == {run_id: "success"}


@pytest.mark.parametrize("column", ["is_paused", "is_active"])
def test_a_dag_that_is_paused_or_gone_starts_nothing_and_goes_on_when_it_is_back(
    scheduler: TestScheduler, column: str
) -> None:
    scheduler.install(a_dag("d", TaskDocument("a"), TaskDocument("b", upstream=("a",)), max_active_runs=1))
    first, second = scheduler.trigger("d"), scheduler.trigger("d")
    run = hold(scheduler)
    scheduler.beats()
    scheduler.set_dag("d", **{column: column == "is_paused"})
    run(scheduler.executor.taken[:])
    release(scheduler, run)
    scheduler.beats()
    assert scheduler.task_states(first) == {"a": "success", "b": "scheduled"}
    scheduler.set_dag("d", **{column: column != "is_paused"})
    scheduler.beats()
    assert scheduler.run_states("d") == {first: "success", second: "success"}


def at(day: int) -> datetime:
    return datetime(2026, 1, day, tzinfo=UTC)


def fill(scheduler: TestScheduler, **arguments: Any) -> backfills.Backfill:
    with scheduler.database.begin() as connection:
        return backfills.create(connection, "daily", at(5), at(8), now=scheduler.clock.now(), **arguments)


def daily(scheduler: TestScheduler, *tasks: TaskDocument) -> None:
    scheduler.install(a_dag("daily", *(tasks or [TaskDocument("a")]), schedule=DAILY, start_date=at(1).isoformat()))


def unfinished(scheduler: TestScheduler) -> list[Mapping[str, Any]]:
    with scheduler.database.begin() as connection:
        return list(rows(connection, "SELECT id FROM backfill WHERE completed_at IS NULL"))


def test_a_run_of_a_finished_backfill_that_is_cleared_runs_again(scheduler: TestScheduler) -> None:
    daily(scheduler)
    fill(scheduler, max_active_runs=1)
    scheduler.beats()
    assert unfinished(scheduler) == []
    clear(scheduler, "daily", start_date=at(6), end_date=at(6))
    scheduler.beats()
    assert set(scheduler.run_states("daily").values()) == {"success"}
    assert len(scheduler.executor.taken) == len(scheduler.run_states("daily")) + 1


def test_dates_of_a_cancelled_backfill_that_never_ran_are_filled_by_one_that_redoes_failures(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    daily(scheduler)
    made = fill(scheduler)
    with scheduler.database.begin() as connection:
        assert made.id is not None
        backfills.cancel(connection, made.id, now=clock.now())
    assert set(scheduler.run_states("daily").values()) == {"failed"}
    again = fill(scheduler, reprocess_behavior="failed")
    assert {one.action for one in again.planned} == {"rerun"}
    scheduler.beats()
    assert set(scheduler.run_states("daily").values()) == {"success"}


def test_cancelling_a_backfill_leaves_no_task_undecided(scheduler: TestScheduler, clock: ManualClock) -> None:
    daily(scheduler)
    fill(scheduler)
    scheduler.beats()
    again = fill(scheduler, reprocess_behavior="completed")
    with scheduler.database.begin() as connection:
        assert again.id is not None
        backfills.cancel(connection, again.id, now=clock.now())
    assert set(scheduler.run_states("daily").values()) == {"failed"}
    assert all(set(scheduler.task_states(run).values()) == {"skipped"} for run in scheduler.run_states("daily"))


def test_a_backfill_cannot_go_backwards_where_tasks_wait_for_the_run_before(scheduler: TestScheduler) -> None:
    daily(scheduler, TaskDocument("a", depends_on_past=True))
    with pytest.raises(InvalidRequestError, match="'a' waits for the run before"):
        fill(scheduler, run_backwards=True)


def past_dependent(scheduler: TestScheduler, **changes: Any) -> tuple[str, str]:
    scheduler.install(a_dag("past", TaskDocument("t", depends_on_past=True), **changes))
    first, second = (scheduler.trigger("past", logical_date=at(day)) for day in (1, 2))
    return first, second


def test_the_run_after_goes_on_when_the_one_before_is_out_of_time(scheduler: TestScheduler, clock: ManualClock) -> None:
    first, second = past_dependent(scheduler, dagrun_timeout_seconds=60)
    scheduler.set_dag("past", max_active_runs=1)
    with scheduler.database.begin() as connection:
        connection.exec_driver_sql("UPDATE slot_pool SET slots = 0")
    scheduler.beats()
    scheduler.set_dag("past", max_active_runs=2)
    clock.advance(timedelta(seconds=30))
    scheduler.beats()
    assert scheduler.task_states(second) == {"t": "none"}
    clock.advance(timedelta(seconds=30))
    with scheduler.database.begin() as connection:
        connection.exec_driver_sql("UPDATE slot_pool SET slots = 5")
    scheduler.beats()
    assert scheduler.task_states(first) == {"t": "skipped"}
    assert scheduler.run_states("past") == {first: "failed", second: "success"}


def test_the_run_after_goes_on_when_the_failed_one_before_is_deleted(scheduler: TestScheduler) -> None:
    scheduler.executor.outcome = lambda one: {
        "outcome": "failed" if one["run"]["logical_date"] == at(1).isoformat() else "success"
    }
    first, second = past_dependent(scheduler)
    scheduler.beats()
    assert scheduler.run_states("past") == {first: "failed", second: "running"}
    with scheduler.database.begin() as connection:
        deletion.delete_run(connection, "past", first, now=scheduler.clock.now())
    scheduler.beats()
    assert scheduler.run_states("past") == {second: "success"}
