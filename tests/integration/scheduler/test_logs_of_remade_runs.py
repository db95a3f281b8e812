"""A run that is deleted and made again under its run id has logs of its own; a try that goes on keeps its log."""

from __future__ import annotations

import pytest
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.deletion import delete_run
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    made = TestScheduler(database, settings, clock)
    made.install(a_dag("d", TaskDocument("a")))
    return made


def log_paths(scheduler: TestScheduler) -> list[str]:
    with scheduler.database.begin() as connection:
        return [row["log_path"] for row in rows(connection, "SELECT log_path FROM task_attempt")]


def test_the_log_of_a_run_made_again_is_not_that_of_the_deleted_one(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    scheduler.trigger("d", run_id="r")
    scheduler.beats()
    (before,) = log_paths(scheduler)
    with scheduler.database.begin() as connection:
        delete_run(connection, "d", "r", now=clock.now())
    scheduler.trigger("d", run_id="r")
    scheduler.beats()
    (after,) = log_paths(scheduler)
    assert before != after
    assert all(path.startswith("d/r/a/attempt=1.") for path in (before, after))


def test_a_try_that_was_handed_back_goes_on_with_its_log(scheduler: TestScheduler) -> None:
    outcomes = iter(("handed_back", "success"))
    scheduler.executor.outcome = lambda _: {"outcome": next(outcomes)}
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "success"}
    first, second = log_paths(scheduler)
    assert first == second
