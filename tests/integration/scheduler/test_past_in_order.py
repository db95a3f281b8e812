"""Runs whose tasks wait for the run before: held for as long as it must be, and never for ever."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.versions import add_version

from treadle.document import TaskDocument
from treadle_metadata import clearing
from treadle_metadata.clearing import Selection
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_worker.protocol import Workload


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def on(day: int) -> datetime:
    return datetime(2026, 1, day, tzinfo=UTC)


def past(task_id: str, *upstream: str, **changes: Any) -> TaskDocument:
    return TaskDocument(task_id=task_id, upstream=upstream, depends_on_past=True, **changes)


def clear(scheduler: TestScheduler, run_id: str) -> None:
    with scheduler.database.begin() as connection:
        clearing.clear(connection, Selection(dag_id="d", run_id=run_id), now=scheduler.clock.now())


def started(scheduler: TestScheduler) -> list[str]:
    """Return the days whose tasks were handed over, in order."""
    return [(one["run"]["logical_date"] or "")[8:10] for one in scheduler.executor.taken]


def moves_of_runs(scheduler: TestScheduler) -> int:
    """Return the most runs that ran at once."""
    with scheduler.database.begin() as connection:
        found = rows(
            connection, "SELECT old_state, new_state FROM state_transition WHERE entity = 'dag_run' ORDER BY id"
        )
    running, most = 0, 0
    for move in found:
        running += (move["new_state"] == "running") - (move["old_state"] == "running")
        most = max(most, running)
    return most


def test_a_run_that_waits_gives_its_place_to_the_older_run_that_was_cleared(scheduler: TestScheduler) -> None:
    """One run at a time: the newer one holds the place and waits for the older one, which waits for the place."""
    bad = {on(1).isoformat()}
    scheduler.executor.outcome = lambda one: {"outcome": "failed" if one["run"]["logical_date"] in bad else "success"}
    scheduler.install(a_dag("d", past("t"), max_active_runs=1))
    first, second = (scheduler.trigger("d", logical_date=on(day)) for day in (1, 2))
    scheduler.beats()
    assert scheduler.run_states("d") == {first: "failed", second: "running"}
    assert scheduler.task_states(second) == {"t": "none"}
    bad.clear()
    clear(scheduler, first)
    scheduler.beats()
    assert scheduler.run_states("d") == {first: "success", second: "success"}
    assert started(scheduler) == ["01", "01", "02"]


def test_a_run_that_works_keeps_its_place_though_the_run_before_is_cleared(scheduler: TestScheduler) -> None:
    kept: list[Workload] = []
    scheduler.install(a_dag("d", TaskDocument("free"), past("t", "free"), max_active_runs=1))
    first = scheduler.trigger("d", logical_date=on(1))
    scheduler.beats()
    plain, scheduler.executor.queue = scheduler.executor.queue, kept.extend  # type: ignore[method-assign, assignment]
    second = scheduler.trigger("d", logical_date=on(2))
    scheduler.beats()
    clear(scheduler, first)
    scheduler.beats()
    assert scheduler.run_states("d") == {first: "queued", second: "running"}
    scheduler.executor.queue = plain  # type: ignore[method-assign]
    plain(kept)
    scheduler.beats()
    assert scheduler.run_states("d") == {first: "success", second: "success"}
    assert started(scheduler) == ["01", "01", "02", "01", "01", "02"]


def test_a_whole_line_of_cleared_runs_goes_in_order_within_the_limit(scheduler: TestScheduler) -> None:
    scheduler.executor.outcome = lambda _: {"outcome": "failed"}
    scheduler.install(a_dag("d", past("t"), max_active_runs=2))
    runs = [scheduler.trigger("d", logical_date=on(day)) for day in range(1, 7)]
    scheduler.beats()
    assert list(scheduler.run_states("d").values()) == ["failed", "running", "running", "queued", "queued", "queued"]
    scheduler.executor.outcome = lambda _: {"outcome": "success"}
    clear(scheduler, runs[0])
    scheduler.beats(most=80)
    assert set(scheduler.run_states("d").values()) == {"success"}
    assert started(scheduler) == ["01", "01", "02", "03", "04", "05", "06"]
    assert moves_of_runs(scheduler) == 2


def test_a_run_that_has_not_started_holds_the_runs_after_it(scheduler: TestScheduler) -> None:
    """It has no instances yet; all its tasks are to come all the same (case A26)."""
    kept: list[Workload] = []
    scheduler.install(a_dag("d", TaskDocument("free"), past("t", "free"), max_active_runs=3))
    plain, scheduler.executor.queue = scheduler.executor.queue, kept.extend  # type: ignore[method-assign, assignment]
    later = scheduler.trigger("d", logical_date=on(5))
    scheduler.beats()
    scheduler.set_dag("d", max_active_runs=1)
    earlier = scheduler.trigger("d", logical_date=on(4))
    scheduler.executor.queue = plain  # type: ignore[method-assign]
    plain(kept)
    scheduler.beats()
    assert scheduler.run_states("d") == {later: "success", earlier: "success"}
    order = [(one["task_id"], (one["run"]["logical_date"] or "")[8:10]) for one in scheduler.executor.taken]
    assert order == [("free", "05"), ("free", "04"), ("t", "04"), ("t", "05")]


def test_alternating_branches_never_block_the_next_day(scheduler: TestScheduler, clock: ManualClock) -> None:
    """Case A27: a skipped past counts as done; the first run, and the first after a gap, wait for nothing."""

    def outcome(one: Workload) -> dict[str, Any]:
        odd = int((one["run"]["logical_date"] or "")[8:10]) % 2
        return {"outcome": "skipped" if one["task_id"] == ("a" if odd else "b") else "success"}

    scheduler.executor.outcome = outcome
    tasks = [past("a"), past("b"), past("join", "a", "b", trigger_rule="none_failed")]
    scheduler.install(a_dag("d", *tasks, max_active_runs=16))
    runs = [scheduler.trigger("d", logical_date=on(day)) for day in (1, 2, 3, 9, 10)]
    scheduler.beats()
    assert set(scheduler.run_states("d").values()) == {"success"}
    assert scheduler.task_states(runs[-1]) == {"a": "success", "b": "skipped", "join": "success"}


def test_a_run_that_gave_way_goes_on_where_it_was(scheduler: TestScheduler, clock: ManualClock) -> None:
    """Its finished tasks are not run again."""
    failing = {("t", on(1).isoformat())}
    scheduler.executor.outcome = lambda one: {
        "outcome": "failed" if (one["task_id"], one["run"]["logical_date"]) in failing else "success"
    }
    scheduler.install(a_dag("d", TaskDocument("free"), past("t", "free"), max_active_runs=1))
    first, second = (scheduler.trigger("d", logical_date=on(day)) for day in (1, 2))
    scheduler.beats()
    assert scheduler.task_states(second) == {"free": "success", "t": "none"}
    failing.clear()
    clear(scheduler, first)
    clock.advance(timedelta(minutes=5))
    scheduler.beats()
    assert set(scheduler.run_states("d").values()) == {"success"}
    order = [(one["task_id"], (one["run"]["logical_date"] or "")[8:10]) for one in scheduler.executor.taken]
    assert order == [("free", "01"), ("t", "01"), ("free", "02"), ("free", "01"), ("t", "01"), ("t", "02")]


def test_a_run_is_told_of_the_end_of_the_run_before_though_only_its_own_version_waits(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    """The run before is of a version that waits for nothing: whoever advances it must think of the next one."""
    kept: list[Workload] = []
    scheduler.install(a_dag("d", TaskDocument("t"), max_active_runs=2))
    plain, scheduler.executor.queue = scheduler.executor.queue, kept.extend  # type: ignore[method-assign, assignment]
    first = scheduler.trigger("d", logical_date=on(1))
    scheduler.beats()
    with scheduler.database.begin() as connection:
        add_version(connection, a_dag("d", past("t"), max_active_runs=2), now=clock.now(), code="# new")
    second = scheduler.trigger("d", logical_date=on(2))
    scheduler.beats()
    assert scheduler.task_states(second) == {"t": "none"}
    scheduler.executor.queue = plain  # type: ignore[method-assign]
    plain(kept)
    scheduler.beats()
    assert scheduler.run_states("d") == {first: "success", second: "success"}
