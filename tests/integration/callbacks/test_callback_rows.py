"""Which callbacks the server has run: one for each end of a run and each attempt that could not tell, at most once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.support.marks import mark_task
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.versions import add_version

from treadle.document import TaskDocument
from treadle_metadata import callbacks, clearing, deletion, execution, marking
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_worker.protocol import Workload

BOTH = ("failure", "success")


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def told(scheduler: TestScheduler) -> list[Workload]:
    """The callbacks that reached the executor, in order."""
    return [one for one in scheduler.executor.taken if "callback" in one]


def events(scheduler: TestScheduler) -> list[str]:
    return [one["callback"]["event"] for one in told(scheduler)]


def stored(scheduler: TestScheduler) -> Sequence[Mapping[str, Any]]:
    with scheduler.database.begin() as connection:
        return rows(connection, "SELECT * FROM callback ORDER BY id")


def failing(*task_ids: str, **report: Any) -> Any:
    def outcome(workload: Workload) -> dict[str, Any]:
        failed = workload["task_id"] in task_ids and "callback" not in workload
        return {"outcome": "failed", "called_back": True} | report if failed else {"outcome": "success"}

    return outcome


def test_the_end_of_a_run_is_told_once_with_its_reason_and_its_last_instance(scheduler: TestScheduler) -> None:
    scheduler.executor.outcome = failing("bad")
    scheduler.install(a_dag("d", TaskDocument("bad"), TaskDocument("good"), callbacks=BOTH))
    scheduler.install(a_dag("e", TaskDocument("good"), callbacks=BOTH))
    failed, succeeded = scheduler.trigger("d"), scheduler.trigger("e")
    scheduler.beats()
    by_run = {one["run"]["run_id"]: one for one in told(scheduler)}
    assert len(told(scheduler)) == 2
    assert by_run[failed]["callback"]["event"] == "run_failure"
    assert by_run[failed]["callback"]["facts"]["reason"] == "task_failure"
    assert by_run[failed]["task_id"] == "bad"
    assert by_run[succeeded]["callback"]["event"] == "run_success"
    assert by_run[succeeded]["task_id"] == "good"
    assert {one["state"] for one in stored(scheduler)} == {"success"}


def test_a_callback_of_a_run_on_an_older_version_runs_the_text_of_that_version(scheduler: TestScheduler) -> None:
    document = a_dag("d", TaskDocument("a"), callbacks=BOTH)
    scheduler.install(document)
    with scheduler.database.begin() as connection:
        add_version(connection, replace(document, description="older"), now=scheduler.clock.now(), code="older")
    tomorrow = scheduler.clock.now() + timedelta(days=1)
    older = [scheduler.trigger("d", run_after=tomorrow) for _ in range(2)]
    with scheduler.database.begin() as connection:
        add_version(connection, replace(document, description="newer"), now=scheduler.clock.now(), code="newer")
    scheduler.clock.set(tomorrow)
    newer = scheduler.trigger("d")
    scheduler.beats()
    ran = {one["run"]["run_id"]: one.get("source") for one in told(scheduler)}
    assert ran == {**dict.fromkeys(older, "older"), newer: None}


def test_a_dag_without_callbacks_has_none_run(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", TaskDocument("a"), callbacks=("failure",)))
    scheduler.trigger("d")
    scheduler.beats()
    assert stored(scheduler) == []


def test_a_run_that_is_cleared_and_ends_again_tells_again(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", TaskDocument("a"), callbacks=BOTH))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    with scheduler.database.begin() as connection:
        clearing.clear(connection, clearing.Selection(dag_id="d", run_id=run_id), now=scheduler.clock.now())
    scheduler.beats()
    assert events(scheduler) == ["run_success", "run_success"]
    assert [one["facts"]["clear_number"] for one in stored(scheduler)] == [0, 1]


def test_a_run_that_a_person_marks_tells_so(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", TaskDocument("a", callbacks=("failure",)), callbacks=BOTH, start_date=None))
    run_id = scheduler.trigger("d", run_after=scheduler.clock.now() + timedelta(days=1))
    with scheduler.database.begin() as connection:
        marking.mark_run(connection, "d", run_id, "failed", now=scheduler.clock.now())
    scheduler.beats()
    (one,) = told(scheduler)
    assert (one["callback"]["event"], one["callback"]["facts"]["reason"]) == ("run_failure", "marked")


def test_an_attempt_that_is_lost_is_told_of_by_the_server_once(scheduler: TestScheduler) -> None:
    """Case A47: its own process cannot tell of it any more."""
    lost = {"called_back": False, "error": {"kind": "lost", "type": "WorkerLost", "message": "its host is gone"}}
    scheduler.executor.outcome = failing("a", **lost)
    task = TaskDocument("a", retries=1, retry_delay_seconds=60, callbacks=("failure", "retry"))
    scheduler.install(a_dag("d", task, TaskDocument("quiet")))
    scheduler.trigger("d")
    scheduler.beats()
    assert events(scheduler) == ["task_retry"]
    scheduler.clock.advance(timedelta(seconds=61))
    scheduler.beats()
    assert events(scheduler) == ["task_retry", "task_failure"]
    tries = [(one["try_number"], one["callback"]["facts"]["error"]["message"]) for one in told(scheduler)]
    assert tries == [(1, "its host is gone"), (2, "its host is gone")]


def test_an_attempt_that_told_itself_is_not_told_of_again(scheduler: TestScheduler) -> None:
    scheduler.executor.outcome = failing("a")
    scheduler.install(a_dag("d", TaskDocument("a", callbacks=("failure",))))
    scheduler.trigger("d")
    scheduler.beats()
    assert events(scheduler) == []


class Held:
    """An executor's outcome that leaves attempts running."""

    def __init__(self, scheduler: TestScheduler) -> None:
        self.scheduler = scheduler
        self.taken: list[Workload] = []
        scheduler.executor.queue = self.queue  # type: ignore[method-assign, assignment]

    def queue(self, workloads: Sequence[Workload]) -> None:
        self.taken += workloads

    def start(self, workload: Workload, host: str = "h") -> bool:
        """Report a start; tell whether it was accepted."""
        report = self.report(workload) | {"hostname": host, "started_at": self.now.isoformat()}
        with self.scheduler.database.begin() as connection:
            lease = self.now + timedelta(seconds=30)
            (answer,) = execution.record_starts(connection, [report], now=self.now, lease_until=lease)
        return bool(answer["accepted"])

    def finish(self, workload: Workload, **facts: Any) -> bool:
        report = self.report(workload) | {"outcome": "success", "ended_at": self.now.isoformat(), "xcoms": []} | facts
        with self.scheduler.database.begin() as connection:
            return bool(execution.record_finishes(connection, [report], now=self.now))

    def take_callbacks(self, workload: Workload) -> bool:
        """Ask, as the attempt's own process does, whether it may call its callbacks."""
        with self.scheduler.database.begin() as connection:
            request = self.report(workload) | {"op": "take_callbacks", "args": {}}
            return bool(execution.answer_request(connection, request, crypto=None, now=self.now))  # type: ignore[arg-type]

    def report(self, workload: Workload) -> dict[str, Any]:
        subject = "callback" if "callback" in workload else "task"
        names = ("attempt_id", "task_instance_id", "month")
        return {name: workload[name] for name in names} | {"subject": subject}  # type: ignore[literal-required]

    @property
    def now(self) -> Any:
        return self.scheduler.clock.now()


def test_whoever_takes_the_callbacks_of_an_attempt_first_calls_them(scheduler: TestScheduler) -> None:
    held = Held(scheduler)
    scheduler.install(a_dag("d", TaskDocument("a", callbacks=("failure", "success"))))
    scheduler.trigger("d")
    scheduler.beats()
    (attempt,) = held.taken
    assert not held.take_callbacks(attempt), "it has not started"
    assert held.start(attempt)
    assert held.take_callbacks(attempt)
    assert not held.take_callbacks(attempt)
    # The process dies in its callback, together with its host.
    with scheduler.database.begin() as connection:
        lost = [(UUID(attempt["attempt_id"]), attempt["task_instance_id"], rows_month(attempt))]
        execution.lose(connection, lost, "gone", now=held.now)
    scheduler.beats()
    assert stored(scheduler) == []


def rows_month(workload: Workload) -> Any:
    return date.fromisoformat(workload["month"])


def test_attempts_ended_by_the_run_s_time_limit_are_told_of_by_the_server_alone(scheduler: TestScheduler) -> None:
    """Case A49: the state is the server's, so the callback is too; the process that is being ended may not call it."""
    held = Held(scheduler)
    task = TaskDocument("a", retries=3, callbacks=("failure", "retry"))
    scheduler.install(a_dag("d", task, dagrun_timeout_seconds=60, callbacks=("failure",)))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    (attempt,) = held.taken
    assert held.start(attempt)
    scheduler.clock.advance(timedelta(seconds=61))
    scheduler.beats()
    assert scheduler.run_states("d") == {run_id: "failed"}
    assert not held.take_callbacks(attempt)
    found = {one["callback"]["event"]: one["callback"]["facts"] for one in held.taken if "callback" in one}
    assert sorted(found) == ["run_failure", "task_failure"]
    assert found["run_failure"]["reason"] == "timed_out"
    assert "dagrun_timeout" in found["task_failure"]["error"]["message"]


def test_what_fail_fast_ends_is_told_of_by_the_server(scheduler: TestScheduler) -> None:
    held = Held(scheduler)
    tasks = [TaskDocument(name, callbacks=("failure",)) for name in ("bad", "other")]
    scheduler.install(a_dag("d", *tasks, fail_fast=True))
    scheduler.trigger("d")
    scheduler.beats()
    bad, other = sorted(held.taken, key=lambda one: one["task_id"])
    assert held.start(bad)
    assert held.start(other)
    assert held.take_callbacks(bad)
    assert held.finish(bad, outcome="failed", called_back=True)
    scheduler.beats()
    (told,) = [one for one in held.taken if "callback" in one]
    assert (told["task_id"], told["callback"]["event"]) == ("other", "task_failure")
    assert "fail_fast" in told["callback"]["facts"]["error"]["message"]


def test_what_a_person_marks_is_told_of_by_no_callback_of_the_task(scheduler: TestScheduler) -> None:
    held = Held(scheduler)
    scheduler.install(a_dag("d", TaskDocument("a", callbacks=("failure", "success"))))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    (attempt,) = held.taken
    assert held.start(attempt)
    with scheduler.database.begin() as connection:
        mark_task(connection, "d", run_id, "a", "success", now=held.now)
    assert not held.take_callbacks(attempt)
    scheduler.beats()
    assert stored(scheduler) == []


def test_a_callback_starts_at_most_once_whatever_is_lost(scheduler: TestScheduler) -> None:
    """Killed before its start it is handed over again, after it never: the first hand-over may not start any more."""
    held = Held(scheduler)
    scheduler.install(a_dag("d", callbacks=BOTH))
    scheduler.trigger("d")
    scheduler.beats()
    (first,) = held.taken
    scheduler.clock.advance(timedelta(seconds=31))
    scheduler.beats()
    first, second = held.taken
    assert not held.start(first)
    assert held.start(second)
    assert held.start(second), "the same report again: its sender does not know that it was recorded"
    assert not held.start(second, host="another")
    scheduler.clock.advance(timedelta(seconds=31))
    scheduler.beats()
    assert len(held.taken) == 2
    (row,) = stored(scheduler)
    assert (row["state"], row["error"]["kind"]) == ("failed", "lost")
    assert not held.finish(second)
    with scheduler.database.begin() as connection:
        (entry,) = rows(connection, "SELECT actor, event, run_id, detail FROM audit_log")
    assert (entry["actor"], entry["event"]) == ("scheduler", "callback_failed")


def test_a_callback_that_is_heard_of_keeps_its_lease(scheduler: TestScheduler) -> None:
    held = Held(scheduler)
    scheduler.install(a_dag("d", callbacks=BOTH))
    scheduler.trigger("d")
    scheduler.beats()
    (workload,) = held.taken
    assert held.start(workload)
    for _ in range(3):
        scheduler.clock.advance(timedelta(seconds=20))
        with scheduler.database.begin() as connection:
            lease = held.now + timedelta(seconds=30)
            beats = [held.report(workload)]
            assert execution.record_heartbeats(connection, beats, lease_until=lease) == {workload["attempt_id"]}
        scheduler.beats()
    assert held.finish(workload)
    assert [one["state"] for one in stored(scheduler)] == ["success"]


def test_only_so_many_callbacks_are_under_way_at_a_time(scheduler: TestScheduler) -> None:
    held = Held(scheduler)
    scheduler.install(a_dag("d", callbacks=BOTH, max_active_runs=100))
    for number in range(callbacks.AT_ONCE + 5):
        scheduler.trigger("d", run_id=f"r{number}")
    scheduler.beats()
    assert len(held.taken) == callbacks.AT_ONCE
    for workload in list(held.taken[:3]):
        assert held.start(workload)
        assert held.finish(workload)
    scheduler.beats()
    assert len(held.taken) == callbacks.AT_ONCE + 3


def test_a_callback_for_an_executor_that_is_not_there_fails_with_its_name(scheduler: TestScheduler) -> None:
    held = Held(scheduler)
    scheduler.install(a_dag("d", callbacks=BOTH))
    scheduler.trigger("d", run_after=scheduler.clock.now() + timedelta(days=1))
    scheduler.beats()
    with scheduler.database.begin() as connection:
        marking.mark_run(connection, "d", next(iter(scheduler.run_states("d"))), "failed", now=held.now)
        execute(connection, "UPDATE callback SET executor = 'celery'")
    scheduler.beats()
    (row,) = stored(scheduler)
    assert row["state"] == "failed"
    assert "executor 'celery'" in row["error"]["message"]
    assert held.taken == []


def test_callbacks_go_with_their_run(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", TaskDocument("a"), callbacks=BOTH))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    with scheduler.database.begin() as connection:
        deletion.delete_run(connection, "d", run_id, now=scheduler.clock.now())
    assert stored(scheduler) == []
