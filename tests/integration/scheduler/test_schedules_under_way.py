"""When the loop makes runs by itself: woken by nothing but its own duties and the clock."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_metadata.states import RunState
from treadle_metadata.transitions import runs
from treadle_scheduler import calendar
from treadle_scheduler.duties import create_runs

HOURLY = ScheduleDocument(kind="cron", expressions=("0 * * * *",), style="interval")


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def by_itself(scheduler: TestScheduler) -> timedelta:
    """Beat as the loop does, while it wants to go on at once; return how long it would wait then."""
    for _ in range(100):
        wait = scheduler.loop.beat()
        if wait > timedelta(0):
            return wait
    raise AssertionError("the loop never came to rest")


def hourly(dag_id: str, start: str, **changes: Any) -> Any:
    return a_dag(dag_id, TaskDocument("a"), schedule=HOURLY, start_date=start, **changes)


def test_a_dag_that_catches_up_waits_for_no_heartbeat_between_its_runs(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    scheduler.install(hourly("behind", "2026-01-15T00:00:00+00:00", catchup=True), next_run_at=clock.now())
    by_itself(scheduler)
    assert len(scheduler.run_states("behind")) == 12


def test_making_runs_takes_as_many_statements_for_forty_dags_as_for_one(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    """Design section 3: a beat issues O(1) statements, also where times were missed."""
    counts = []
    for batch, number in enumerate((1, 40)):
        for n in range(number):
            last = clock.now() - timedelta(hours=3)
            document = hourly(f"dag{batch}_{n}", "2026-01-15T00:00:00+00:00")
            columns = {"last_interval_start": last - timedelta(hours=1), "last_interval_end": last}
            scheduler.install(document, next_run_at=clock.now(), **columns)
        statements: list[str] = []

        def heard(*arguments: Any, into: list[str] = statements) -> None:
            into.append(arguments[2])

        event.listen(scheduler.database.engine, "before_cursor_execute", heard)
        done = create_runs.create_runs(scheduler.context)
        event.remove(scheduler.database.engine, "before_cursor_execute", heard)
        assert done.count == number
        counts.append(len(statements))
    assert counts[0] == counts[1] <= 8


def test_more_dags_than_a_batch_are_due_at_once_and_all_get_their_run(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    for n in range(create_runs.BATCH + 10):
        scheduler.install(hourly(f"dag{n}", "2026-01-15T11:00:00+00:00"), next_run_at=clock.now())
    by_itself(scheduler)
    assert sum(len(scheduler.run_states(f"dag{n}")) for n in range(create_runs.BATCH + 10)) == create_runs.BATCH + 10


def test_a_dag_held_back_by_its_limit_goes_on_though_no_other_schedule_is_due_for_long(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    start = "2026-01-15T08:00:00+00:00"
    scheduler.install(hourly("held", start, catchup=True, max_active_runs=1), next_run_at=clock.now())
    scheduler.install(hourly("other", "2026-01-15T11:00:00+00:00"), next_run_at=clock.now())
    plain, scheduler.executor.queue = scheduler.executor.queue, scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]
    by_itself(scheduler)
    clock.advance(timedelta(seconds=scheduler.context.settings.heartbeat_seconds))
    by_itself(scheduler)
    assert len(scheduler.run_states("held")) == 1
    plain(scheduler.executor.taken[:])
    by_itself(scheduler)
    clock.advance(timedelta(seconds=scheduler.context.settings.heartbeat_seconds))
    by_itself(scheduler)
    assert len(scheduler.run_states("held")) == 2


def test_the_end_of_a_run_tells_every_scheduler_that_its_dag_may_make_the_next(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    scheduler.install(a_dag("held", TaskDocument("a")), at_run_limit=True)
    run_id = scheduler.trigger("held")
    with scheduler.database.listen() as listener:
        with scheduler.database.begin() as connection:
            (run,) = rows(connection, "SELECT id FROM dag_run WHERE run_id = %(run_id)s", {"run_id": run_id})
            runs.finish(connection, [run["id"]], RunState.FAILED, now=clock.now())
        heard = [(one.channel, one.payload) for one in listener.notifies(timeout=5, stop_after=1)]
    assert heard == [("treadle_wake", "")]


def test_the_loop_rests_while_a_continuous_dag_is_at_the_limit_of_its_timetable(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    plain, scheduler.executor.queue = scheduler.executor.queue, scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]
    document = a_dag("endless", TaskDocument("a"), schedule=ScheduleDocument(kind="continuous"))
    scheduler.install(document, next_run_at=clock.now())
    by_itself(scheduler)
    clock.advance(timedelta(seconds=30))
    assert by_itself(scheduler) > timedelta(seconds=1)
    assert len(scheduler.run_states("endless")) == 1
    plain(scheduler.executor.taken[:])
    by_itself(scheduler)
    clock.advance(timedelta(seconds=scheduler.context.settings.heartbeat_seconds))
    by_itself(scheduler)
    assert len(scheduler.run_states("endless")) == 2


def test_runs_meant_for_a_later_time_do_not_hold_up_the_schedule(scheduler: TestScheduler, clock: ManualClock) -> None:
    start = "2026-01-15T11:00:00+00:00"
    scheduler.install(hourly("busy", start, max_active_runs=1), next_run_at=clock.now())
    later = scheduler.trigger("busy", run_after=clock.now() + timedelta(days=400))
    scheduler.beats()
    assert scheduler.run_states("busy") == {later: "queued", "scheduled__2026-01-15T12:00:00+00:00": "success"}


def test_a_schedule_that_raises_stops_its_own_dag_only_and_says_so(
    scheduler: TestScheduler, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case A4."""
    known = calendar.next_plan

    def next_plan(document: Any, *arguments: Any, **named: Any) -> Any:
        if document.dag_id == "bad":
            raise OverflowError("date value out of range")
        return known(document, *arguments, **named)

    monkeypatch.setattr(create_runs, "next_plan", next_plan)
    for name in ("bad", "good"):
        scheduler.install(hourly(name, "2026-01-15T11:00:00+00:00"), next_run_at=clock.now())
    scheduler.beats()
    assert scheduler.run_states("bad") == {}
    assert list(scheduler.run_states("good").values()) == ["success"]
    with scheduler.database.begin() as connection:
        (warning,) = rows(connection, "SELECT dag_id, message FROM dag_warning")
    assert warning["dag_id"] == "bad"
    assert "date value out of range" in warning["message"]


def test_a_run_made_before_a_month_that_nobody_prepared_still_runs(
    own_database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler = TestScheduler(own_database, settings, clock)
    scheduler.install(a_dag("late", TaskDocument("a")))
    clock.advance(timedelta(days=6 * 366))
    run_id = scheduler.trigger("late")
    clock.advance(timedelta(days=100))
    scheduler.beats()
    assert scheduler.run_states("late") == {run_id: "success"}
    with scheduler.database.begin() as connection:
        (place,) = rows(connection, "SELECT DISTINCT tableoid::regclass::text AS name FROM task_instance")
    assert place["name"] == "task_instance_2032_01"


def test_a_run_goes_from_one_month_into_the_next_in_the_partition_of_its_birth(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    clock.advance(timedelta(days=16, hours=11, minutes=59))
    tries = iter(["failed", "success", "success"])
    scheduler.executor.outcome = lambda _: {"outcome": next(tries)}
    first = TaskDocument("a", retries=1, retry_delay_seconds=120)
    scheduler.install(a_dag("turn", first, TaskDocument("b", upstream=("a",))))
    run_id = scheduler.trigger("turn")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "up_for_retry", "b": "none"}
    clock.advance(timedelta(seconds=120))
    scheduler.beats()
    assert scheduler.run_states("turn") == {run_id: "success"}
    assert {one["month"] for one in scheduler.executor.taken} == {"2026-01-01"}


def test_a_wake_up_of_a_run_that_is_gone_is_forgotten(scheduler: TestScheduler, clock: ManualClock) -> None:
    with scheduler.database.begin() as connection:
        execute(connection, "INSERT INTO run_wakeup (dag_run_id, due_at) VALUES (4711, %(now)s)", {"now": clock.now()})
    by_itself(scheduler)
    with scheduler.database.begin() as connection:
        assert rows(connection, "SELECT id FROM run_wakeup") == []
