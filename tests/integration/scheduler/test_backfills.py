"""Backfills: behind live work, paused and let go on, resumed after a kill, only their own DAG, with an estimate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.statements import recorded_statements

from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata import backfills
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.queries import backfills as questions
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_worker.protocol import Workload

DAILY = ScheduleDocument(kind="cron", expressions=("0 0 * * *",), style="trigger")


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, replace(settings, parallelism=4), clock)


def at(day: int) -> datetime:
    return datetime(2026, 1, day, tzinfo=UTC)


def daily(scheduler: TestScheduler, dag_id: str = "daily", weight: int = 1) -> None:
    task = TaskDocument("t", priority_weight=weight)
    scheduler.install(a_dag(dag_id, task, schedule=DAILY, start_date=at(1).isoformat()), is_paused=False)


def fill(scheduler: TestScheduler, first: int, last: int, dag_id: str = "daily", **how: Any) -> int:
    with scheduler.database.begin() as connection:
        made = backfills.create(connection, dag_id, at(first), at(last), now=scheduler.clock.now(), **how)
    assert made.id is not None
    return made.id


def in_hand(scheduler: TestScheduler) -> list[Workload]:
    """Let the executor keep what it is given, and return what that is."""
    held: list[Workload] = []

    def queue(workloads: Iterable[Workload]) -> None:
        held.extend(workloads)

    scheduler.executor.queue = queue  # type: ignore[method-assign]
    return held


def test_live_work_goes_before_that_of_a_backfill_whatever_their_weights(scheduler: TestScheduler) -> None:
    with scheduler.database.begin() as connection:
        execute(connection, "UPDATE slot_pool SET slots = 2")
    daily(scheduler, weight=1000)
    scheduler.install(a_dag("live", TaskDocument("t", priority_weight=1), TaskDocument("u", priority_weight=-5)))
    plain = scheduler.executor.queue
    held = in_hand(scheduler)
    fill(scheduler, 1, 9)
    scheduler.beats()
    assert [one["dag_id"] for one in held] == ["daily", "daily"]
    scheduler.trigger("live")
    scheduler.beats()
    plain(held[:])
    del held[:]
    scheduler.beats()
    assert [one["dag_id"] for one in held] == ["live", "live"]


def test_runs_that_a_backfill_redoes_go_behind_live_work_too(scheduler: TestScheduler) -> None:
    daily(scheduler)
    fill(scheduler, 1, 3)
    scheduler.beats()
    with scheduler.database.begin() as connection:
        execute(connection, "UPDATE task_instance SET is_backfill = false")
        execute(connection, "UPDATE backfill SET completed_at = %(now)s", {"now": scheduler.clock.now()})
    fill(scheduler, 1, 3, reprocess_behavior="completed")
    with scheduler.database.begin() as connection:
        assert {row["is_backfill"] for row in rows(connection, "SELECT is_backfill FROM task_instance")} == {True}


def test_a_backfill_touches_no_other_dag(scheduler: TestScheduler) -> None:
    """Case A15."""
    for dag_id in ("x", "y"):
        daily(scheduler, dag_id)
        fill(scheduler, 5, 7, dag_id)
    scheduler.beats()
    sql = """
        SELECT run.run_id, run.clear_number, run.ended_at, one.state, one.try_number
        FROM dag_run AS run JOIN task_instance AS one ON one.dag_run_id = run.id WHERE run.dag_id = 'y' ORDER BY 1
    """
    with scheduler.database.begin() as connection:
        before = [tuple(row.values()) for row in rows(connection, sql)]
        execute(connection, "UPDATE backfill SET completed_at = %(now)s", {"now": scheduler.clock.now()})
    scheduler.clock.advance(timedelta(minutes=1))
    fill(scheduler, 5, 7, "x", reprocess_behavior="completed")
    scheduler.beats()
    with scheduler.database.begin() as connection:
        assert [tuple(row.values()) for row in rows(connection, sql)] == before
        tries = rows(connection, "SELECT DISTINCT try_number FROM task_instance WHERE dag_id = 'x'")
    assert [row["try_number"] for row in tries] == [2]


def test_a_paused_backfill_starts_nothing_and_its_estimate_waits(scheduler: TestScheduler) -> None:
    daily(scheduler)
    held = in_hand(scheduler)
    number = fill(scheduler, 1, 6, max_active_runs=2)
    scheduler.beats()
    assert len(held) == 2
    with scheduler.database.begin() as connection:
        backfills.set_paused(connection, number, True)
    with scheduler.database.begin() as connection:
        far = questions.progress(connection, number, now=scheduler.clock.now())
    assert (far.state, far.total, far.done, far.remaining) == ("paused", 6, 0, None)
    with scheduler.database.begin() as connection:
        backfills.set_paused(connection, number, False)
        assert questions.progress(connection, number, now=scheduler.clock.now()).state == "running"


def test_another_scheduler_goes_on_with_the_backfill_of_one_that_was_killed(
    scheduler: TestScheduler, database: Database, settings: Settings, clock: ManualClock
) -> None:
    daily(scheduler)
    in_hand(scheduler)
    number = fill(scheduler, 1, 6, max_active_runs=2)
    scheduler.beats()
    clock.advance(timedelta(seconds=settings.lease_seconds + 1))
    second = TestScheduler(database, settings, clock)
    second.beats()
    assert set(second.run_states("daily").values()) == {"success"}
    with database.begin() as connection:
        far = questions.progress(connection, number, now=clock.now())
        assert (far.done, far.total, far.state) == (6, 6, "completed")
        dates = questions.dates(connection, number)
    assert [one["logical_date"].day for one in dates] == [1, 2, 3, 4, 5, 6]
    assert {one["state"] for one in dates} == {"success"}


def test_runs_that_run_again_cost_the_same_statements_however_many_they_are(scheduler: TestScheduler) -> None:
    scheduler.clock.set(at(31))
    counts = []
    for dag_id, last in (("two", 2), ("twenty", 20)):
        daily(scheduler, dag_id)
        fill(scheduler, 1, last, dag_id)
        scheduler.beats()
        with scheduler.database.begin() as connection:
            backfills.complete_finished(connection, now=scheduler.clock.now())
        with recorded_statements(scheduler.database) as seen:
            fill(scheduler, 1, last, dag_id, reprocess_behavior="completed")
        assert set(scheduler.run_states(dag_id).values()) == {"queued"}
        counts.append(len(seen))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("reprocess", ["none", "failed", "completed"])
def test_a_preview_of_a_backfill_is_its_effect(scheduler: TestScheduler, reprocess: str) -> None:
    """Case H11: some dates have a run that succeeded, some one that failed, some none."""
    daily(scheduler)
    scheduler.executor.outcome = lambda one: {
        "outcome": "failed" if one["run"]["logical_date"] in (at(2).isoformat(), at(3).isoformat()) else "success"
    }
    fill(scheduler, 1, 4)
    scheduler.beats()
    with scheduler.database.begin() as connection:
        execute(connection, "UPDATE backfill SET completed_at = %(now)s", {"now": scheduler.clock.now()})
    how: dict[str, Any] = {"reprocess_behavior": reprocess, "now": scheduler.clock.now()}
    with scheduler.database.begin() as connection:
        shown = backfills.create(connection, "daily", at(1), at(7), dry_run=True, **how)
    before = _runs(scheduler)
    with scheduler.database.begin() as connection:
        made = backfills.create(connection, "daily", at(1), at(7), **how)
    assert made.planned == shown.planned
    after = _runs(scheduler)
    did = {
        day: "create" if day not in before else "rerun" if after[day] != before[day] else "skip"
        for day in after
        if at(1) <= day <= at(7)
    }
    assert did == {one.logical_date: one.action for one in shown.planned}
    again = {"none": 0, "failed": 2, "completed": 4}[reprocess]
    assert sorted(did.values()) == ["create"] * 3 + ["rerun"] * again + ["skip"] * (4 - again)


def _runs(scheduler: TestScheduler) -> dict[datetime, tuple[str, int]]:
    with scheduler.database.begin() as connection:
        found = rows(connection, "SELECT logical_date, state, clear_number FROM dag_run")
    return {one["logical_date"]: (one["state"], one["clear_number"]) for one in found}


def test_a_cancelled_backfill_says_so(scheduler: TestScheduler) -> None:
    daily(scheduler)
    number = fill(scheduler, 1, 3)
    with scheduler.database.begin() as connection:
        backfills.cancel(connection, number, now=scheduler.clock.now())
        assert questions.progress(connection, number, now=scheduler.clock.now()).state == "cancelled"


def test_a_range_without_a_date_that_is_over_is_refused(scheduler: TestScheduler) -> None:
    daily(scheduler)
    with pytest.raises(InvalidRequestError, match="there is nothing to fill"):
        fill(scheduler, 20, 25)


@pytest.mark.parametrize(
    ("left", "ended", "seconds", "expected"),
    [(10, 0, 60, None), (10, 5, 60, 120.0), (0, 5, 60, 0.0), (3, 1, 0, None)],
)
def test_the_estimate_takes_the_pace_so_far(left: int, ended: int, seconds: int, expected: float | None) -> None:
    found = questions.estimate(left, ended, at(1), now=at(1) + timedelta(seconds=seconds))
    assert (None if found is None else found.total_seconds()) == expected
