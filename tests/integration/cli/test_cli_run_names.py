"""How runs and instances are named on the command line, and what is said where a name means none or several."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.support.command_line import CommandLine
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument


@pytest.fixture
def morning(scheduler: TestScheduler) -> TestScheduler:
    """DAG d in Berlin with a run of six in the morning there."""
    scheduler.install(a_dag("d", TaskDocument("a"), timezone="Europe/Berlin"))
    scheduler.trigger("d", run_id="six", logical_date=datetime(2026, 3, 1, 5, tzinfo=UTC))
    scheduler.beats()
    return scheduler


def test_a_bare_date_means_the_only_run_of_that_day_in_the_zone_of_the_dag(
    line: CommandLine, morning: TestScheduler
) -> None:
    morning.trigger("d", run_id="evening", logical_date=datetime(2026, 2, 28, 22, 59, tzinfo=UTC))
    assert line.json("tasks", "clear", "d", "--run-id", "2026-03-01", "--dry-run")[0]["run_id"] == "six"
    assert line.json("tasks", "states", "d", "2026-03-01T06:00")[0]["run_id"] == "six"
    assert "run '2026-03-02' of DAG 'd' was not found" in line.fails("tasks", "states", "d", "2026-03-02")


def test_a_bare_date_with_several_runs_names_them(line: CommandLine, morning: TestScheduler) -> None:
    morning.trigger("d", run_id="noon", logical_date=datetime(2026, 3, 1, 11, tzinfo=UTC))
    told = line.fails("tasks", "states", "d", "2026-03-01")
    assert "2026-03-01 means 2 runs of DAG 'd': noon, six; name one" in told


def test_a_run_of_midnight_is_meant_by_its_date_whatever_comes_later_that_day(
    line: CommandLine, morning: TestScheduler
) -> None:
    morning.trigger("d", run_id="midnight", logical_date=datetime(2026, 2, 28, 23, tzinfo=UTC))
    morning.beats()
    assert line.json("tasks", "states", "d", "2026-03-01")[0]["run_id"] == "midnight"
