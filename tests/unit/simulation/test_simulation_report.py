"""What a result means: use of pools over time, busy and free hours, late starts, and deadlocks in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle_scheduler.simulation import report
from treadle_scheduler.simulation.result import Result, RunOutcome, TaskOutcome
from treadle_scheduler.simulation.stuck import deadlocks

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def task(start: float, end: float | None, dag_id: str = "sales", slots: int = 1, pool: str = "p") -> TaskOutcome:
    """Return an attempt from hour ``start`` to hour ``end``."""
    ended = None if end is None else BEGIN + end * HOUR
    return TaskOutcome(dag_id, "r", "t", -1, 1, pool, slots, BEGIN + start * HOUR, ended, "success")


def run(
    due: float, start: float | None, end: float | None, dag_id: str = "sales", state: str = "success"
) -> RunOutcome:
    """Return a run with these hours."""
    at = [None if one is None else BEGIN + one * HOUR for one in (start, end)]
    return RunOutcome(dag_id, f"r{due}", BEGIN + due * HOUR, at[0], at[1], state)


def result(*tasks: TaskOutcome, runs: tuple[RunOutcome, ...] = (), days: int = 1) -> Result:
    """Return the result of a day."""
    return Result(BEGIN, BEGIN + timedelta(days=days), 4, {"p": 3}, runs=runs, tasks=tasks)


def test_a_pool_has_its_peak_its_steps_and_its_busy_and_free_hours() -> None:
    (pool,) = report.pool_usage(result(task(2, 4), task(2.5, 3.5, "big", slots=2), task(0, 0.5)))
    assert (pool.slots, pool.peak, pool.peak_at) == (3, 3, BEGIN + 2.5 * HOUR)
    assert pool.steps == tuple(
        (BEGIN + hour * HOUR, used) for hour, used in [(0, 1), (0.5, 0), (2, 1), (2.5, 3), (3.5, 1), (4, 0)]
    )
    assert (pool.busiest_hour, pool.by_hour[2], pool.freest_hour) == (2, 2.0, 1)
    assert pool.busiest_share == ("sales", 0.5)
    assert pool.mean == pytest.approx((2 + 2 + 0.5) / 24)


def test_an_hour_counts_for_each_day_of_the_period_and_not_beyond_it() -> None:
    (pool,) = report.pool_usage(result(task(2, 3), task(26, 27), task(50, 51), days=2))
    assert pool.by_hour[2] == 1.0


def test_the_executor_counts_attempts_whatever_they_hold_of_pools() -> None:
    used = report.executor_usage(result(task(1, 2, slots=3), task(1, 2, pool="q")))
    assert (used.slots, used.peak) == (4, 2)


def test_an_attempt_that_never_ends_holds_its_slot_to_the_end() -> None:
    (pool,) = report.pool_usage(result(task(23, None), task(1, 2)))
    assert pool.steps[-1] == (BEGIN + 24 * HOUR, 0)


def test_late_starts_are_told_the_latest_first_and_a_run_that_never_starts_is_not_late_but_endless() -> None:
    runs = (run(0, 0, 1), run(1, 3, 4), run(2, 2.5, 4), run(5, None, None, state="queued"))
    found = result(runs=runs)
    assert report.late_starts(found, timedelta(minutes=10)) == [runs[1], runs[2]]
    assert report.unfinished(found) == [runs[3]]


def test_a_dag_is_summed_up() -> None:
    (one,) = report.dag_summaries(result(runs=(run(0, 0, 1), run(2, 4, 7, state="failed"), run(9, None, None))))
    assert (one.runs, one.failed, one.unfinished) == (3, 1, 1)
    assert (one.mean_seconds, one.longest_seconds, one.longest_wait_seconds) == (7200, 10800, 7200)


def test_nothing_happened_is_no_division_by_zero() -> None:
    assert report.pool_usage(result()) == []
    assert report.executor_usage(result()).peak == 0
    assert report.dag_summaries(result()) == []


@given(st.lists(st.tuples(st.integers(0, 47), st.integers(1, 20), st.integers(1, 3)), max_size=12))
def test_use_by_hour_equals_a_count_hour_by_hour(spans: list[tuple[int, int, int]]) -> None:
    found = result(*(task(start, start + length, slots=slots) for start, length, slots in spans), days=2)
    for pool in report.pool_usage(found):
        for hour in range(24):
            held = [
                sum(slots for start, length, slots in spans if start <= at < start + length) for at in (hour, hour + 24)
            ]
            assert pool.by_hour[hour] == pytest.approx(sum(held) / 2)


def test_a_deadlock_names_who_waits_for_whom() -> None:
    workload = cast("Any", {"dag_id": "sensors", "task_id": "wait", "pool": "p"})
    awaited = [(workload, ("producer", BEGIN))] * 2
    (sentence,) = deadlocks(awaited, [{"dag_id": "producer", "task_id": "make"}])
    assert sentence.startswith("Slot deadlock: 2 running attempts of sensors.wait hold their slots (pool 'p')")
    (other,) = deadlocks(awaited, [])
    assert "wait for runs of producer that have not succeeded or that there are none of" in other
