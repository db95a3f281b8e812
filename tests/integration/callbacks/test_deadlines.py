"""Deadlines: counted from their named base, for runs of every type, fired once by whichever scheduler (A57, A60)."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import AssetCondition, DeadlineDocument, ScheduleDocument, TaskDocument
from treadle_metadata import backfills, claims, clearing, deadlines, marking
from treadle_metadata.assets import emitting
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_scheduler.context import HELD_ELSEWHERE
from treadle_scheduler.duties.fire_deadlines import fire_deadlines
from treadle_scheduler.waking import Scope

MINUTE = timedelta(minutes=1)
QUEUED = DeadlineDocument("dagrun_queued_at", 60.0, name="one minute")


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def stored(scheduler: TestScheduler) -> Sequence[Mapping[str, Any]]:
    with scheduler.database.begin() as connection:
        return rows(
            connection,
            "SELECT deadline.*, run.run_id, run.run_type FROM deadline JOIN dag_run AS run ON run.id = dag_run_id"
            " ORDER BY deadline.id",
        )


def fired(scheduler: TestScheduler) -> list[Any]:
    return [one["callback"]["facts"]["deadline"] for one in scheduler.executor.taken if "callback" in one]


def stuck(dag_id: str = "d", *alerts: DeadlineDocument, **changes: Any) -> Any:
    """A DAG whose runs stay running: its task wants a pool that is not there."""
    task = TaskDocument("a", pool="nowhere")
    return a_dag(dag_id, task, deadlines=alerts or (QUEUED,), max_active_runs=1000, **changes)


def test_a_run_that_is_not_over_in_time_fires_its_deadline_once(scheduler: TestScheduler) -> None:
    scheduler.install(stuck())
    run_id = scheduler.trigger("d")
    scheduler.beats()
    scheduler.clock.advance(MINUTE - timedelta(seconds=1))
    scheduler.beats()
    assert fired(scheduler) == []
    scheduler.clock.advance(timedelta(seconds=1))
    scheduler.beats()
    scheduler.beats()
    (told,) = fired(scheduler)
    assert (told["alert_name"], told["reference"]) == ("one minute", "dagrun_queued_at")
    assert datetime.fromisoformat(told["deadline_time"]) - datetime.fromisoformat(told["base_time"]) == MINUTE
    (row,) = stored(scheduler)
    assert row["missed_at"] == row["due_at"] == scheduler.clock.now()
    assert row["run_id"] == run_id


def test_a_deadline_that_another_scheduler_holds_lets_the_loop_rest(scheduler: TestScheduler) -> None:
    scheduler.install(stuck())
    scheduler.trigger("d")
    scheduler.beats()
    scheduler.clock.advance(MINUTE)
    now = scheduler.clock.now()
    with scheduler.database.begin() as other:
        claims.claim_due_deadlines(other, now=now, most=1)
        done = fire_deadlines(scheduler.context)
    assert (done.count, done.next_at) == (0, now + HELD_ELSEWHERE)


def test_a_run_that_ends_in_time_has_none_any_more(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", TaskDocument("a"), deadlines=(QUEUED,)))
    scheduler.trigger("d")
    scheduler.beats()
    assert stored(scheduler) == []
    scheduler.clock.advance(MINUTE * 2)
    scheduler.beats()
    assert fired(scheduler) == []


def test_a_run_that_ended_too_late_while_nobody_looked_is_told_of(scheduler: TestScheduler) -> None:
    scheduler.install(stuck())
    run_id = scheduler.trigger("d")
    scheduler.beats()
    scheduler.clock.advance(MINUTE * 2)
    with scheduler.database.begin() as connection:
        marking.mark_run(connection, "d", run_id, "success", now=scheduler.clock.now())
    scheduler.beats()
    assert len(fired(scheduler)) == 1


def test_the_loop_wakes_for_the_next_deadline_and_not_before(scheduler: TestScheduler) -> None:
    scheduler.install(stuck("d", DeadlineDocument("dagrun_queued_at", 3.0)))
    scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.loop.beat() <= timedelta(seconds=3)


BASES = [
    (DeadlineDocument("dagrun_queued_at", 60), {}, MINUTE),
    (DeadlineDocument("dagrun_queued_at", 60), {"run_after": "+1h"}, timedelta(hours=1) + MINUTE),
    (DeadlineDocument("dagrun_logical_date", 60), {"logical_date": "+1h"}, timedelta(hours=1) + MINUTE),
    (DeadlineDocument("dagrun_logical_date", 60), {"run_after": "+2h"}, timedelta(hours=2) + MINUTE),
    (DeadlineDocument("fixed_datetime", -60, fixed_at="+3h"), {}, timedelta(hours=3) - MINUTE),
]


@pytest.mark.parametrize(("alert", "run", "expected"), BASES)
def test_each_base_is_counted_from(
    scheduler: TestScheduler, alert: DeadlineDocument, run: dict[str, str], expected: timedelta
) -> None:
    now = scheduler.clock.now()
    hours = {"+1h": now + timedelta(hours=1), "+2h": now + timedelta(hours=2), "+3h": now + timedelta(hours=3)}
    fixed_at = None if alert.fixed_at is None else hours[alert.fixed_at].isoformat()
    alert = DeadlineDocument(alert.reference, alert.interval_seconds, fixed_at=fixed_at)
    scheduler.install(stuck("d", alert))
    scheduler.trigger("d", **{name: hours[value] for name, value in run.items()})
    (row,) = stored(scheduler)
    assert row["due_at"] == now + expected


def test_the_average_runtime_counts_once_enough_runs_have_succeeded(scheduler: TestScheduler) -> None:
    alert = DeadlineDocument("average_runtime", 10.0, max_runs=2, min_runs=2)
    scheduler.install(stuck("d", alert))
    for seconds in (600, 20, 40):
        run_id = scheduler.trigger("d", run_id=f"took_{seconds}")
        scheduler.beats()
        scheduler.clock.advance(timedelta(seconds=seconds))
        with scheduler.database.begin() as connection:
            marking.mark_run(connection, "d", run_id, "success", now=scheduler.clock.now())
    scheduler.trigger("d", run_id="newest")
    found = {one["run_id"]: one["due_at"] for one in stored(scheduler) if one["missed_at"] is None}
    assert found["newest"] == scheduler.clock.now() + timedelta(seconds=30 + 10)


def test_runs_of_every_type_have_deadlines(scheduler: TestScheduler) -> None:
    """Case A60: made by hand, by the schedule, by a backfill, by an asset."""
    schedule = ScheduleDocument(kind="cron", expressions=("0 * * * *",))
    start = scheduler.clock.now() - timedelta(days=2)
    scheduler.install(stuck("d", schedule=schedule, start_date=start.isoformat()), next_run_at=scheduler.clock.now())
    scheduler.trigger("d")
    scheduler.beats()
    with scheduler.database.begin() as connection:
        first = datetime(start.year, start.month, start.day, tzinfo=UTC)
        backfills.create(connection, "d", first, first + timedelta(hours=5), now=scheduler.clock.now())
    by_assets = ScheduleDocument(kind="assets", condition=AssetCondition("asset", "orders"))
    scheduler.install(stuck("fed", schedule=by_assets))
    with scheduler.database.begin() as connection:
        emitting.emit(connection, [emitting.NewEvent("orders")], now=scheduler.clock.now())
    scheduler.beats()
    types = {one["run_type"] for one in stored(scheduler)}
    assert types == {"manual", "scheduled", "backfill", "asset_triggered"}
    scheduler.clock.advance(MINUTE)
    scheduler.beats()
    assert len(fired(scheduler)) == len(stored(scheduler))
    assert len({one["id"] for one in fired(scheduler)}) == len(fired(scheduler))


def test_a_cleared_run_has_its_deadlines_anew_but_for_those_that_are_over(scheduler: TestScheduler) -> None:
    fixed = DeadlineDocument("fixed_datetime", 0, fixed_at=(scheduler.clock.now() + MINUTE).isoformat())
    scheduler.install(stuck("d", QUEUED, fixed))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    scheduler.clock.advance(MINUTE * 2)
    scheduler.beats()
    assert len(fired(scheduler)) == 2
    with scheduler.database.begin() as connection:
        marking.mark_run(connection, "d", run_id, "failed", now=scheduler.clock.now())
        clearing.clear(connection, clearing.Selection(dag_id="d", run_id=run_id), now=scheduler.clock.now())
    waiting = [one for one in stored(scheduler) if one["missed_at"] is None]
    assert [(one["position"], one["clear_number"], one["due_at"]) for one in waiting] == [
        (0, 1, scheduler.clock.now() + MINUTE)
    ]
    scheduler.clock.advance(MINUTE)
    scheduler.beats()
    assert len(fired(scheduler)) == 3


def test_three_schedulers_call_100_missed_deadlines_100_times(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    """Case A57: they beat at the same time, and each deadline is called once."""
    schedulers = [TestScheduler(database, settings, clock) for _ in range(3)]
    schedulers[0].install(stuck())
    for number in range(100):
        schedulers[0].trigger("d", run_id=f"r{number}")
    schedulers[0].beats()
    clock.advance(timedelta(seconds=60))
    together = threading.Barrier(3)

    def work(one: TestScheduler) -> None:
        together.wait()
        for _ in range(12):
            one.loop.wake(Scope.EVERYTHING)
            one.loop.beat()

    threads = [threading.Thread(target=work, args=(one,)) for one in schedulers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    called = [told["id"] for one in schedulers for told in fired(one)]
    assert len(called) == len(set(called)) == 100
    with database.begin() as connection:
        assert deadlines.next_due(connection) is None
        (states,) = rows(connection, "SELECT array_agg(DISTINCT state) AS found, count(*) AS n FROM callback")
    assert (states["found"], states["n"]) == (["success"], 100)
