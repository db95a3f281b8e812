"""From a deferral to the attempt that goes on: what the database keeps, and which events count."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from bench.instant import success
from tests.support.deferring import CRYPTO, KEY, SECOND, HandTriggerer, deferral, deferring, triggers_of
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata import claims, clearing, deferrals, processes
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.queries.logs import find_log
from treadle_metadata.queries.task_instances import get_instance
from treadle_metadata.queries.why import why_is_task_not_running
from treadle_metadata.selecting import Selection
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, replace(settings, fernet_key=KEY), clock, deferring())


def started(scheduler: TestScheduler, *tasks: TaskDocument) -> str:
    scheduler.install(a_dag("d", *(tasks or (TaskDocument("a", "Operator"),))))
    run = scheduler.trigger("d")
    scheduler.beats()
    return run


def test_a_task_waits_without_a_slot_and_goes_on_once_with_its_event(
    scheduler: TestScheduler, database: Database, clock: ManualClock
) -> None:
    run = started(scheduler)
    assert scheduler.task_states(run) == {"a": "deferred"}
    one = HandTriggerer(database, clock)
    (trigger,) = one.beat()
    assert (trigger["classpath"], json.loads(trigger["kwargs"])) == ("somewhere.Trigger", {"secret": "sesame"})
    assert "sesame" not in triggers_of(database)[0]["kwargs"]
    assert one.fire_all({"x": 1}) == {trigger["id"]}
    assert one.fire_all({"x": 2}) == set()
    scheduler.beats()
    assert scheduler.task_states(run) == {"a": "success"}
    first, second = scheduler.executor.taken
    assert second["resume"]["event"] == '{"x": 1}'
    assert (first["try_number"], second["try_number"]) == (1, 1)
    assert first["log_path"] == second["log_path"]
    assert triggers_of(database) == []
    assert scheduler._select("SELECT * FROM deferral") == []


def test_an_event_is_encrypted_where_it_waits_for_a_worker(
    scheduler: TestScheduler, database: Database, clock: ManualClock
) -> None:
    started(scheduler)
    one = HandTriggerer(database, clock)
    one.beat()
    one.fire_all("sesame")
    (row,) = scheduler._select("SELECT event, next_kwargs FROM deferral")
    assert CRYPTO.decrypt(row["event"], "it") == '"sesame"'
    assert "sesame" not in row["event"]


def test_execution_timeouts_span_deferrals(scheduler: TestScheduler, database: Database, clock: ManualClock) -> None:
    """Case D1: a limit of 60 s and waits of 30 s each; at 60 s from the first start the task goes on to fail."""
    scheduler.executor.outcome = lambda workload: (
        {"outcome": "failed"}
        if dict(workload.get("resume") or {}).get("error")
        else deferral(execution_timeout_seconds=60.0)
    )
    run = started(scheduler)
    one = HandTriggerer(database, clock)
    for _ in range(2):
        clock.advance(25 * SECOND)
        one.beat()
        one.fire_all()
        one.held.clear()
        scheduler.beats()
        assert scheduler.task_states(run) == {"a": "deferred"}
    clock.advance(9 * SECOND)
    scheduler.beats()
    assert scheduler.task_states(run) == {"a": "deferred"}
    clock.advance(1 * SECOND)
    scheduler.beats()
    assert scheduler.task_states(run) == {"a": "failed"}
    resume: Any = scheduler.executor.taken[-1]["resume"]
    assert resume["error"]["kind"] == "execution_timeout"
    assert "60 s" in resume["error"]["error"]


def test_a_timeout_counts_from_the_deferral_and_cancels_the_trigger(
    scheduler: TestScheduler, database: Database, clock: ManualClock
) -> None:
    """Case D7, vi."""
    scheduler.executor.outcome = deferring(timeout_seconds=10.0)
    run = started(scheduler)
    one = HandTriggerer(database, clock)
    one.beat()
    clock.advance(timedelta(seconds=10))
    scheduler.beats()
    assert scheduler.task_states(run) == {"a": "success"}
    resume: Any = scheduler.executor.taken[-1]["resume"]
    assert resume["error"]["kind"] == "timeout"
    assert [row["cancelled_for"] for row in triggers_of(database)] == ["timeout"]
    assert one.fire_all() == set()


def test_a_claim_that_met_an_older_wait_ends_none(
    scheduler: TestScheduler, database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have read the wait before that went on, and the instance once it waited anew."""
    scheduler.executor.outcome = deferring(timeout_seconds=10.0)
    run = started(scheduler)
    (met,) = scheduler._select("SELECT id AS task_instance_id, month, attempt_id FROM task_instance")
    older = {**met, "due_kind": "timeout", "limit_seconds": 1.0}
    monkeypatch.setattr(claims, "claim_overdue_deferrals", lambda *_, **__: [older])
    with database.begin() as connection:
        assert deferrals.expire(connection, now=clock.now())[0] == 0
    assert scheduler.task_states(run) == {"a": "deferred"}


def test_a_deferred_task_is_in_its_first_try_all_the_time_and_its_log_ends_with_it(
    scheduler: TestScheduler, database: Database, clock: ManualClock
) -> None:
    scheduler.executor.outcome = deferring()
    run = started(scheduler)
    one = HandTriggerer(database, clock)
    one.beat()

    def seen() -> tuple[str, int, bool, bool]:
        with database.begin() as connection:
            row = get_instance(connection, "d", run, "a")
            log = find_log(connection, "d", run, "a", -1, row["try_number"])
        return row["state"], row["try_number"], log.is_over, row["waits_for"] is not None

    assert seen() == ("deferred", 1, False, True)
    one.fire_all()
    assert seen() == ("scheduled", 1, False, False)
    scheduler.beats()
    assert seen() == ("success", 1, True, False)


def test_a_retry_after_a_deferral_begins_anew(scheduler: TestScheduler, database: Database, clock: ManualClock) -> None:
    def outcome(workload: Any) -> dict[str, Any]:
        return {"outcome": "failed"} if "resume" in workload else deferral()

    scheduler.executor.outcome = outcome
    run = started(scheduler, TaskDocument("a", "Operator", retries=1))
    one = HandTriggerer(database, clock)
    one.beat()
    one.fire_all()
    scheduler.beats()
    assert scheduler.task_states(run) == {"a": "up_for_retry"}
    clock.advance(timedelta(hours=1))
    scheduler.beats()
    assert scheduler.task_states(run) == {"a": "deferred"}
    assert ["resume" in one for one in scheduler.executor.taken] == [False, True, False]
    assert [one["try_number"] for one in scheduler.executor.taken] == [1, 1, 2]


def test_why_tells_what_a_deferred_task_waits_for_and_that_nobody_looks(
    scheduler: TestScheduler, database: Database, clock: ManualClock, settings: Settings
) -> None:
    scheduler.executor.outcome = deferring(timeout_seconds=600.0)
    run = started(scheduler)

    with database.begin() as connection:
        processes.register(connection, "scheduler", clock.now(), 3600)

    def told() -> str:
        with database.begin() as connection:
            found = why_is_task_not_running(connection, "d", run, "a", now=clock.now(), settings=settings)
        return found.sentence

    assert "waits for Trigger since" in told()
    assert "(in 10 min) at the latest" in told()
    assert "no triggerer is alive" in told()
    one = HandTriggerer(database, clock)
    one.beat()
    assert "the triggerer on here (pid 1) looks" in told()
    clock.advance(timedelta(seconds=31))
    assert "no triggerer is alive" in told()


def test_what_goes_on_comes_before_new_starts_of_its_weight_and_after_those_of_more(
    scheduler: TestScheduler, database: Database, clock: ManualClock
) -> None:
    with database.begin() as connection:
        execute(connection, "UPDATE slot_pool SET slots = 1 WHERE name = 'default_pool'")
    started(scheduler, TaskDocument("a", "Operator"))
    one = HandTriggerer(database, clock)
    one.beat()
    scheduler.install(a_dag("0", *(TaskDocument(f"b{number}", "Operator") for number in range(3))))
    scheduler.install(a_dag("z", TaskDocument("heavy", "Operator", priority_weight=2)))
    scheduler.executor.outcome = success
    scheduler.trigger("0")
    scheduler.trigger("z")
    one.fire_all()
    scheduler.beats()
    order = [workload["task_id"] for workload in scheduler.executor.taken]
    assert order[:3] == ["a", "heavy", "a"]
    assert sorted(order[3:]) == ["b0", "b1", "b2"]


@pytest.mark.parametrize("outcome", ["success", "skipped"])
def test_a_trigger_ends_its_task_without_a_worker(
    scheduler: TestScheduler, database: Database, clock: ManualClock, outcome: str
) -> None:
    scheduler.executor.outcome = lambda workload: deferral() if workload["task_id"] == "a" else success(workload)
    run = started(scheduler, TaskDocument("a", "Operator"), TaskDocument("b", "Operator", upstream=("a",)))
    one = HandTriggerer(database, clock)
    (trigger,) = one.beat()
    pushed = [{"key": "return_value", "value": "7", "length": None}]
    assert one.fire({"id": trigger["id"], "kind": "end", "outcome": outcome, "xcoms": pushed}) == {trigger["id"]}
    scheduler.beats()
    assert scheduler.task_states(run)["a"] == outcome
    assert [workload["task_id"] for workload in scheduler.executor.taken].count("a") == 1
    assert [row["value"] for row in scheduler._select("SELECT value FROM xcom WHERE key = 'return_value'")] == ["7"]
    assert scheduler._select("SELECT * FROM deferral") == []
    assert scheduler._select("SELECT outcome FROM task_attempt ORDER BY attempt_id")[0] == {"outcome": outcome}


def test_a_failure_that_a_trigger_decides_respects_retries_and_callbacks(
    scheduler: TestScheduler, database: Database, clock: ManualClock
) -> None:
    """Case D2: 3 attempts, the retry callback twice, the failure callback once."""
    run = started(scheduler, TaskDocument("a", "Operator", retries=2, callbacks=("failure", "retry")))
    one = HandTriggerer(database, clock)
    for _ in range(3):
        for trigger in one.beat():
            one.fire({"id": trigger["id"], "kind": "end", "outcome": "failed", "reason": "the job is broken"})
        clock.advance(timedelta(hours=1))
        scheduler.beats()
    assert scheduler.task_states(run) == {"a": "failed"}
    attempts = scheduler._select("SELECT outcome, error FROM task_attempt ORDER BY attempt_id")
    assert [row["outcome"] for row in attempts] == ["failed"] * 3
    assert attempts[0]["error"]["message"] == "the job is broken"
    called = [row["event"] for row in scheduler._select("SELECT event FROM callback ORDER BY id")]
    assert sorted(called) == ["task_failure", "task_retry", "task_retry"]


def test_an_end_that_needs_the_tasks_own_code_goes_to_a_worker(
    scheduler: TestScheduler, database: Database, clock: ManualClock
) -> None:
    scheduler.executor.outcome = deferring(ends_in_worker=True)
    run = started(scheduler)
    one = HandTriggerer(database, clock)
    (trigger,) = one.beat()
    one.fire({"id": trigger["id"], "kind": "end", "outcome": "success", "xcoms": []})
    scheduler.beats()
    assert scheduler.task_states(run) == {"a": "success"}
    assert scheduler.executor.taken[-1]["resume"]["error"] == {
        "kind": "end",
        "outcome": "success",
        "reason": "",
        "xcoms": {},
    }


def test_an_event_of_an_attempt_that_is_over_reaches_no_other(
    scheduler: TestScheduler, database: Database, clock: ManualClock
) -> None:
    run = started(scheduler)
    one = HandTriggerer(database, clock)
    (trigger,) = one.beat()
    with database.begin() as connection:
        clearing.clear(connection, Selection(dag_id="d"), now=clock.now())
    scheduler.beats()
    assert scheduler.task_states(run) == {"a": "deferred"}
    # As if the clear had not reached the trigger: what is fenced is the attempt.
    with database.begin() as connection:
        execute(connection, "UPDATE trigger SET cancelled_at = NULL WHERE id = %(id)s", {"id": trigger["id"]})
    assert one.fire({"id": trigger["id"], "kind": "event", "payload": "1"}) == set()
    scheduler.beats()
    assert scheduler.task_states(run) == {"a": "deferred"}


def test_what_a_dead_triggerer_ran_is_followed_by_another(
    scheduler: TestScheduler, database: Database, clock: ManualClock
) -> None:
    """Case D7, v: nothing is cancelled by it."""
    run = started(scheduler)
    first, second = HandTriggerer(database, clock, pid=1), HandTriggerer(database, clock, pid=2)
    assert len(first.beat()) == 1
    assert second.beat() == []
    clock.advance(timedelta(seconds=31))
    assert len(second.beat()) == 1
    assert first.fire_all() == set()
    assert [row["cancelled_at"] for row in triggers_of(database)] == [None]
    second.fire_all()
    scheduler.beats()
    assert scheduler.task_states(run) == {"a": "success"}


def test_a_task_that_starts_from_a_trigger_needs_no_worker_before_its_event(
    scheduler: TestScheduler, database: Database, clock: ManualClock
) -> None:
    start = {"classpath": "somewhere.Trigger", "kwargs": '{"x":1}', "next_method": "go_on", "next_kwargs": "{}"}
    scheduler.executor.outcome = success
    run = started(scheduler, TaskDocument("a", "Operator", start_trigger=start))
    assert scheduler.task_states(run) == {"a": "deferred"}
    assert scheduler.executor.taken == []
    one = HandTriggerer(database, clock)
    (trigger,) = one.beat()
    assert trigger["kwargs"] == '{"x":1}'
    one.fire_all("here")
    scheduler.beats()
    assert scheduler.task_states(run) == {"a": "success"}
    (workload,) = scheduler.executor.taken
    assert (workload["try_number"], workload["resume"]["event"]) == (1, '"here"')


def test_what_a_long_forgotten_triggerer_ran_is_taken_up_too(
    scheduler: TestScheduler, database: Database, clock: ManualClock
) -> None:
    started(scheduler)
    first, second = HandTriggerer(database, clock, pid=1), HandTriggerer(database, clock, pid=2)
    first.beat()
    with database.begin() as connection:
        execute(connection, "DELETE FROM process")
    assert len(second.beat()) == 1
    HandTriggerer(database, clock, pid=3).beat()
    assert len(scheduler._select("SELECT * FROM triggerer")) == 2
