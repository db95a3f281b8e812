"""Where schedules begin, and how ends are moved to a grid without adding up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.document import DagDocument, ScheduleDocument
from treadle.timetables.base import DagRunInfo
from treadle_scheduler.simulation.beginning import beginning
from treadle_scheduler.simulation.grid import Grid, step_for

BEGIN = datetime(2026, 3, 4, tzinfo=UTC)


def first(
    schedule: ScheduleDocument, start: str | None = "2020-01-01T00:00:00+00:00", **changes: Any
) -> DagRunInfo | None:
    """Return the first run due at ``BEGIN`` or later."""
    document = DagDocument("d", schedule=schedule, start_date=start, **changes)
    return beginning(document, BEGIN, cron_style="trigger")[1]


@pytest.mark.parametrize("catchup", [True, False])
@pytest.mark.parametrize(
    ("schedule", "due"),
    [
        (ScheduleDocument(kind="cron", expressions=("0 0 * * *",)), BEGIN),
        (ScheduleDocument(kind="cron", expressions=("* * * * *",)), BEGIN),
        (ScheduleDocument(kind="cron", expressions=("0 6 * * *",), style="interval"), BEGIN + timedelta(hours=6)),
        (ScheduleDocument(kind="cron", expressions=("0 0 1 1 *",)), datetime(2027, 1, 1, tzinfo=UTC)),
        (ScheduleDocument(kind="delta", seconds=5 * 3600.0), datetime(2026, 3, 4, 4, tzinfo=UTC)),
        (ScheduleDocument(kind="continuous"), BEGIN),
    ],
)
def test_the_first_run_is_the_first_that_is_due_in_the_period(
    schedule: ScheduleDocument, due: datetime, catchup: bool
) -> None:
    info = first(schedule, catchup=catchup)
    assert info is not None
    assert info.run_after == due


def test_a_dag_that_starts_later_begins_then() -> None:
    info = first(ScheduleDocument(kind="cron", expressions=("0 0 * * *",)), "2026-03-06T00:00:00+00:00")
    assert info is not None
    assert info.run_after == datetime(2026, 3, 6, tzinfo=UTC)


def test_a_dag_that_has_ended_or_ran_once_has_no_run() -> None:
    assert (
        first(ScheduleDocument(kind="cron", expressions=("0 0 * * *",)), end_date="2026-01-01T00:00:00+00:00") is None
    )
    assert first(ScheduleDocument(kind="once")) is None
    assert first(ScheduleDocument()) is None


def workload(run_id: str, pool: str = "p") -> Any:
    """Return as much of a workload as the grid looks at; its run was due long ago."""
    return cast(
        "Any", {"dag_id": "d", "pool": pool, "run": {"run_id": run_id, "run_after": "2026-01-01T00:00:00+00:00"}}
    )


@given(st.lists(st.floats(0.1, 500), min_size=1, max_size=30), st.sampled_from([1.0, 60.0, 120.0]))
def test_a_chain_ends_at_most_one_step_late(lengths: list[float], step: float) -> None:
    grid, now = Grid(step), BEGIN
    for seconds in lengths:
        ends, exact = grid.ends(workload("r"), seconds, now)
        assert now <= ends
        now = ends
        grid.ended(workload("r"), exact, now)
    late = (now - BEGIN).total_seconds() - sum(lengths)
    assert -0.001 <= late <= step + 0.001


@given(st.lists(st.floats(0.1, 500), min_size=1, max_size=30))
def test_a_slot_that_passes_from_run_to_run_loses_no_time(lengths: list[float]) -> None:
    grid, now = Grid(60), BEGIN
    for number, seconds in enumerate(lengths):
        now, exact = grid.ends(workload(f"r{number}"), seconds, now)
        grid.ended(workload(f"r{number}"), exact, now)
    assert (now - BEGIN).total_seconds() - sum(lengths) <= 60.001


def test_without_a_grid_ends_are_exact() -> None:
    at = BEGIN + timedelta(seconds=7.25)
    assert Grid(0).ends(workload("r"), 7.25, BEGIN) == (at, at)


def test_the_step_follows_the_period() -> None:
    assert [step_for(timedelta(days=days)) for days in (0.1, 1, 7, 31, 3650)] == [1, 5, 30, 120, 300]
