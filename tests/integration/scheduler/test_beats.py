"""The beat as a whole, on a real database, with an executor that ends every attempt at once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.marks import mark_task
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import ExpandArgument, ExpandDocument, ScheduleDocument, TaskDocument
from treadle_metadata import clearing, marking
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_scheduler.waking import Scope
from treadle_worker.protocol import Workload


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def task(task_id: str, *upstream: str, **changes: Any) -> TaskDocument:
    return TaskDocument(task_id=task_id, upstream=upstream, **changes)


def failing(*task_ids: str, kind: str = "failed") -> Any:
    def outcome(workload: Workload) -> dict[str, Any]:
        return {"outcome": kind if workload["task_id"] in task_ids else "success"}

    return outcome


def test_a_run_of_a_diamond_ends_in_success_with_each_task_run_once(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("diamond", task("a"), task("b", "a"), task("c", "a"), task("d", "b", "c")))
    run_id = scheduler.trigger("diamond")
    scheduler.beats()
    assert scheduler.run_states("diamond") == {run_id: "success"}
    assert scheduler.task_states(run_id) == dict.fromkeys("abcd", "success")
    assert [one["task_id"] for one in scheduler.executor.taken] in (list("abcd"), list("acbd"))


def test_a_failure_fails_what_is_below_it_and_the_run(scheduler: TestScheduler) -> None:
    scheduler.executor.outcome = failing("a")
    scheduler.install(a_dag("d", task("a"), task("b", "a"), task("c", "b"), task("x")))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {
        "a": "failed",
        "b": "upstream_failed",
        "c": "upstream_failed",
        "x": "success",
    }
    assert scheduler.run_states("d") == {run_id: "failed"}


def test_empty_tasks_need_no_worker(scheduler: TestScheduler) -> None:
    tasks = [task("t0", is_empty=True)] + [task(f"t{n}", f"t{n - 1}", is_empty=True) for n in range(1, 50)]
    scheduler.install(a_dag("empty", *tasks))
    run_id = scheduler.trigger("empty")
    scheduler.beats()
    assert set(scheduler.task_states(run_id).values()) == {"success"}
    assert scheduler.executor.taken == []


def test_a_failed_try_is_repeated_after_its_delay_until_the_tries_are_used_up(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    scheduler.executor.outcome = failing("a")
    scheduler.install(a_dag("retried", task("a", retries=2, retry_delay_seconds=60)))
    run_id = scheduler.trigger("retried")
    for tries in (1, 2, 3):
        scheduler.beats()
        assert len(scheduler.executor.taken) == tries
        clock.advance(timedelta(seconds=59))
        scheduler.beats()
        assert len(scheduler.executor.taken) == tries
        clock.advance(timedelta(seconds=1))
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "failed"}
    assert [one["try_number"] for one in scheduler.executor.taken] == [1, 2, 3]


def test_a_failure_without_retry_ends_the_task_at_once(scheduler: TestScheduler) -> None:
    scheduler.executor.outcome = failing("a", kind="failed_without_retry")
    scheduler.install(a_dag("d", task("a", retries=5)))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "failed"}


def test_a_skip_reaches_what_is_below_and_the_run_succeeds(scheduler: TestScheduler) -> None:
    scheduler.executor.outcome = failing("a", kind="skipped")
    scheduler.install(a_dag("d", task("a"), task("b", "a"), task("c", "b", trigger_rule="none_failed")))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "skipped", "b": "skipped", "c": "success"}
    assert scheduler.run_states("d") == {run_id: "success"}


def test_a_mapped_task_gets_one_instance_for_each_item_and_its_join_runs_once(scheduler: TestScheduler) -> None:
    def outcome(workload: Workload) -> dict[str, Any]:
        pushed = [{"key": "return_value", "value": "[1,2,3]", "length": 3}] if workload["task_id"] == "make" else []
        return {"outcome": "success", "xcoms": pushed}

    scheduler.executor.outcome = outcome
    expand = ExpandDocument("product", (ExpandArgument("x", task_id="make"), ExpandArgument("y", length=2)))
    scheduler.install(a_dag("mapped", task("make"), task("each", "make", expand=expand), task("join", "each")))
    run_id = scheduler.trigger("mapped")
    scheduler.beats()
    states = scheduler.task_states(run_id)
    assert states == {"make": "success", "join": "success"} | {f"each[{n}]": "success" for n in range(6)}
    assert [one["task_id"] for one in scheduler.executor.taken].count("join") == 1


def test_a_mapping_over_nothing_is_skipped_and_all_done_joins_run(scheduler: TestScheduler) -> None:
    expand = ExpandDocument("product", (ExpandArgument("x", length=0),))
    scheduler.install(a_dag("none", task("each", expand=expand), task("join", "each", trigger_rule="all_done")))
    run_id = scheduler.trigger("none")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"each": "skipped", "join": "success"}


def test_an_upstream_that_pushed_no_list_fails_the_mapping_and_says_why(scheduler: TestScheduler) -> None:
    expand = ExpandDocument("product", (ExpandArgument("x", task_id="make"),))
    scheduler.install(a_dag("bad", task("make"), task("each", "make", expand=expand)))
    run_id = scheduler.trigger("bad")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"make": "success", "each": "failed"}
    with scheduler.database.begin() as connection:
        why = rows(connection, "SELECT waiting_for FROM task_instance WHERE task_id = 'each'")[0]["waiting_for"]
    assert "'make' pushed no list" in why


def test_one_active_run_means_one_whatever_asks_for_runs(scheduler: TestScheduler) -> None:
    """Case A18: scheduled and manual runs wait for each other and start in the order of their creation."""
    seen: list[set[str]] = []

    def outcome(_workload: Workload) -> dict[str, Any]:
        states = scheduler.run_states("single")
        seen.append({run for run, state in states.items() if state == "running"})
        return {"outcome": "success"}

    scheduler.executor.outcome = outcome
    scheduler.install(a_dag("single", task("a"), task("b", "a"), max_active_runs=1))
    triggered = [scheduler.trigger("single") for _ in range(11)]
    scheduler.beats(most=200)
    assert all(len(running) == 1 for running in seen)
    order = [next(iter(running)) for running in seen]
    assert list(dict.fromkeys(order)) == triggered
    assert set(scheduler.run_states("single").values()) == {"success"}


def test_a_scheduled_run_is_made_once_for_its_date(scheduler: TestScheduler, clock: ManualClock) -> None:
    schedule = ScheduleDocument(kind="cron", expressions=("0 * * * *",), style="interval")
    document = a_dag("hourly", task("a"), schedule=schedule, start_date="2026-01-15T11:00:00+00:00")
    scheduler.install(document, next_run_at=clock.now())
    scheduler.beats()
    assert scheduler.run_states("hourly") == {"scheduled__2026-01-15T12:00:00+00:00": "success"}
    clock.advance(timedelta(hours=1))
    scheduler.beats()
    assert len(scheduler.run_states("hourly")) == 2


def test_a_paused_minutely_dag_makes_one_run_when_it_goes_on(scheduler: TestScheduler, clock: ManualClock) -> None:
    """Case A11: paused from 12:01 to 12:05:30, one run for 12:04 to 12:05, not four."""
    schedule = ScheduleDocument(kind="cron", expressions=("* * * * *",), style="interval")
    document = a_dag("minutely", task("a"), schedule=schedule, start_date="2026-01-15T11:59:00+00:00")
    scheduler.install(document, next_run_at=clock.now())
    scheduler.beats()
    before = set(scheduler.run_states("minutely"))
    scheduler.set_dag("minutely", is_paused=True)
    clock.advance(timedelta(minutes=5, seconds=30))
    scheduler.beats()
    assert set(scheduler.run_states("minutely")) == before
    scheduler.set_dag("minutely", is_paused=False)
    scheduler.beats()
    assert set(scheduler.run_states("minutely")) - before == {"scheduled__2026-01-15T12:05:00+00:00"}


def test_catching_up_respects_the_run_limit_and_goes_on_to_the_end(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    schedule = ScheduleDocument(kind="cron", expressions=("0 * * * *",), style="interval")
    document = a_dag(
        "behind", task("a"), schedule=schedule, start_date="2026-01-15T00:00:00+00:00", catchup=True, max_active_runs=2
    )
    scheduler.install(document, next_run_at=clock.now())
    scheduler.beats(most=200)
    assert list(scheduler.run_states("behind").values()) == ["success"] * 12


def test_a_run_over_its_time_fails_and_frees_the_next(scheduler: TestScheduler, clock: ManualClock) -> None:
    """Case A49."""
    scheduler.install(a_dag("slow", task("a"), task("b", "a"), dagrun_timeout_seconds=120, max_active_runs=1))
    first, second = scheduler.trigger("slow"), scheduler.trigger("slow")
    scheduler.executor.queue = scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]
    scheduler.beats()
    assert scheduler.task_states(first) == {"a": "queued", "b": "none"}
    clock.advance(timedelta(seconds=121))
    with scheduler.database.begin() as connection:
        execute(connection, "UPDATE task_instance SET lease_until = %(soon)s", {"soon": clock.now() + timedelta(60)})
    scheduler.beats()
    assert scheduler.task_states(first) == {"a": "failed", "b": "skipped"}
    assert scheduler.run_states("slow") == {first: "failed", second: "running"}


def test_an_attempt_without_a_heartbeat_is_charged_once_and_tried_again(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    """Case A47: retries=1, the first worker is lost, the second try succeeds."""
    scheduler.install(a_dag("lost", task("a", retries=1, retry_delay_seconds=5)))
    run_id = scheduler.trigger("lost")
    queue = scheduler.executor.queue
    scheduler.executor.queue = scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]
    scheduler.beats()
    with scheduler.database.begin() as connection:
        execute(connection, "UPDATE task_instance SET state = 'running'")
    clock.advance(timedelta(seconds=31))
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "up_for_retry"}
    scheduler.executor.queue = queue  # type: ignore[method-assign]
    clock.advance(timedelta(seconds=5))
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "success"}
    with scheduler.database.begin() as connection:
        attempts = rows(connection, "SELECT try_number, outcome, error FROM task_attempt ORDER BY try_number")
    assert [(one["try_number"], one["outcome"]) for one in attempts] == [(1, "failed"), (2, "success")]
    assert attempts[0]["error"]["kind"] == "lost"


def test_an_attempt_that_never_started_is_not_charged(scheduler: TestScheduler, clock: ManualClock) -> None:
    """Case A52: the scheduler died between queueing and handing over."""
    scheduler.install(a_dag("dropped", task("a")))
    run_id = scheduler.trigger("dropped")
    queue = scheduler.executor.queue
    scheduler.executor.queue = lambda _workloads: None  # type: ignore[method-assign, assignment]
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "queued"}
    scheduler.executor.queue = queue  # type: ignore[method-assign]
    clock.advance(timedelta(seconds=31))
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "success"}
    assert [one["try_number"] for one in scheduler.executor.taken] == [1]


def test_clearing_a_task_and_what_is_below_it_runs_just_those_again(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("chain", task("a"), task("b", "a"), task("c", "b")))
    scheduler.install(a_dag("other", task("a"), task("b", "a")))
    run_id, untouched = scheduler.trigger("chain"), scheduler.trigger("other")
    scheduler.beats()
    scheduler.executor.taken.clear()
    selection = clearing.Selection(dag_id="chain", task_ids=("b",), include_downstream=True)
    with scheduler.database.begin() as connection:
        listed = clearing.clear(connection, selection, dry_run=True, now=scheduler.clock.now())
        cleared = clearing.clear(connection, selection, now=scheduler.clock.now())
    assert listed.changes == cleared.changes
    assert [one["task_id"] for one in listed.cleared] == ["b", "c"]
    scheduler.beats()
    assert [(one["dag_id"], one["task_id"], one["try_number"]) for one in scheduler.executor.taken] == [
        ("chain", "b", 2),
        ("chain", "c", 2),
    ]
    assert scheduler.run_states("chain") == {run_id: "success"}
    assert scheduler.run_states("other") == {untouched: "success"}


def test_marking_a_run_failed_ends_what_is_in_it(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("marked", task("a"), task("b", "a")))
    run_id = scheduler.trigger("marked")
    scheduler.executor.queue = scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]
    scheduler.beats()
    with scheduler.database.begin() as connection:
        row = marking.mark_run(connection, "marked", run_id, "failed", now=scheduler.clock.now())
    assert row["state"] == "failed"
    assert scheduler.task_states(run_id) == {"a": "failed", "b": "skipped"}


def test_a_full_pool_does_not_hide_the_ready_tasks_of_another(scheduler: TestScheduler) -> None:
    """Case B5."""
    with scheduler.database.begin() as connection:
        execute(connection, "INSERT INTO slot_pool (name, slots) VALUES ('p1', 2), ('p2', 20)")
    first = [task(f"a{n}", pool="p1", priority_weight=2) for n in range(200)]
    second = [task(f"b{n}", pool="p2", priority_weight=1) for n in range(15)]
    scheduler.install(a_dag("backlog", *first, max_active_tasks=1000))
    scheduler.install(a_dag("free", *second, max_active_tasks=1000))
    scheduler.trigger("backlog")
    run_id = scheduler.trigger("free")
    scheduler.executor.queue = scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]
    scheduler.loop.wake(Scope.EVERYTHING)
    scheduler.loop.beat()
    states = list(scheduler.task_states(run_id).values())
    assert states == ["queued"] * 15
    assert sum(one["dag_id"] == "backlog" for one in scheduler.executor.taken) == 2


def test_multi_slot_tasks_never_overfill_their_pool_and_an_impossible_one_blocks_nobody(
    scheduler: TestScheduler,
) -> None:
    """Case A24."""
    with scheduler.database.begin() as connection:
        execute(connection, "INSERT INTO slot_pool (name, slots) VALUES ('six', 6)")
    wide = [task(f"t{n}", pool="six", pool_slots=3) for n in range(10)]
    scheduler.install(a_dag("slots", task("huge", pool="six", pool_slots=7, priority_weight=9), *wide))
    run_id = scheduler.trigger("slots")
    scheduler.executor.queue = scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]
    scheduler.beats()
    assert list(scheduler.task_states(run_id).values()).count("queued") == 2
    with scheduler.database.begin() as connection:
        execute(connection, "UPDATE slot_pool SET slots = 4 WHERE name = 'six'")
        mark_task(connection, "slots", run_id, "t0", "success", now=scheduler.clock.now())
    scheduler.beats()
    assert list(scheduler.task_states(run_id).values()).count("queued") == 1


def at(hour: int) -> datetime:
    return datetime(2026, 1, 15, hour, tzinfo=UTC)


def test_a_task_waits_for_itself_in_the_run_before_and_goes_on_when_that_is_done(scheduler: TestScheduler) -> None:
    """Cases A26 and A27: nothing is decided on it meanwhile, and a skipped past counts as done."""
    held: list[Workload] = []

    def queue(workloads: Iterable[Workload]) -> None:
        for one in workloads:
            late = one["task_id"] == "t2" and one["run"]["logical_date"] == at(9).isoformat()
            held.append(one) if late else plain([one])

    plain, scheduler.executor.queue = scheduler.executor.queue, queue  # type: ignore[method-assign]
    scheduler.executor.outcome = lambda one: {
        "outcome": "skipped"
        if one["task_id"] == "t1" and one["run"]["logical_date"] == at(10).isoformat()
        else "success"
    }
    scheduler.install(a_dag("past", task("t1"), task("t2", "t1", depends_on_past=True)))
    runs = [scheduler.trigger("past", logical_date=at(hour)) for hour in (9, 10, 11)]
    scheduler.beats()
    assert [scheduler.task_states(run)["t2"] for run in runs] == ["queued", "none", "none"]
    plain(held)
    scheduler.beats()
    assert [scheduler.task_states(run)["t2"] for run in runs] == ["success", "skipped", "success"]


def test_a_failed_past_holds_the_next_run_until_somebody_marks_it(scheduler: TestScheduler) -> None:
    scheduler.executor.outcome = lambda one: {
        "outcome": "failed" if one["run"]["logical_date"] == at(9).isoformat() else "success"
    }
    scheduler.install(a_dag("past", task("t", wait_for_downstream=True, depends_on_past=True), task("below", "t")))
    first, second = (scheduler.trigger("past", logical_date=at(hour)) for hour in (9, 10))
    scheduler.beats()
    assert scheduler.run_states("past") == {first: "failed", second: "running"}
    with scheduler.database.begin() as connection:
        mark_task(connection, "past", first, "t", "success", now=scheduler.clock.now())
    scheduler.beats()
    assert scheduler.task_states(second) == {"t": "none", "below": "none"}
    with scheduler.database.begin() as connection:
        mark_task(connection, "past", first, "below", "success", now=scheduler.clock.now())
    scheduler.beats()
    assert scheduler.run_states("past")[second] == "success"


def test_fail_fast_ends_everything_else_at_the_first_failure(scheduler: TestScheduler) -> None:
    scheduler.executor.outcome = failing("bad")
    scheduler.install(a_dag("fast", task("bad", priority_weight=9), task("other"), fail_fast=True, max_active_tasks=1))
    run_id = scheduler.trigger("fast")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"bad": "failed", "other": "skipped"}
    assert scheduler.run_states("fast") == {run_id: "failed"}
