"""Two people answer at the same moment, or one answers while another ends the task: one of them is told why not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.support.asking import ask
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.waiting import wait_until

from treadle.document import TaskDocument
from treadle_metadata import human_steps
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import ConflictError, NotFoundError
from treadle_metadata.marking import mark_selected
from treadle_metadata.queries.task_instances import get_instance
from treadle_metadata.selecting import Selection
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    """A scheduler with a run whose task asks."""
    made = TestScheduler(database, settings, clock)
    made.install(a_dag("d", TaskDocument("fetch")))
    made.trigger("d", run_id="r")
    made.beats()
    with database.begin() as connection:
        ask(connection, settings, clock.now())
    return made


def respond(scheduler: TestScheduler, chosen: str, by: str) -> Callable[[Any], Any]:
    def act(connection: Any) -> Any:
        instance = get_instance(connection, "d", "r", "fetch")
        return human_steps.respond(connection, instance, [chosen], {}, by=by, now=scheduler.clock.now())

    return act


def meanwhile(scheduler: TestScheduler, first: Callable[[Any], Any], second: Callable[[Any], Any]) -> Exception:
    """Let ``second`` begin before ``first`` commits, and wait for it; return what it was refused with."""
    errors: list[Exception] = []

    def late() -> None:
        try:
            scheduler.database.run(second)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=late)
    with scheduler.database.begin() as connection:
        first(connection)
        thread.start()
        wait_until(lambda: errors or _waits(scheduler.database), 10)
        assert errors == []
    thread.join(10)
    return errors[0]


def _waits(database: Database) -> bool:
    with database.begin() as connection:
        return bool(rows(connection, "SELECT FROM pg_locks WHERE NOT granted"))


def test_the_second_of_two_answers_is_told_who_was_first(scheduler: TestScheduler) -> None:
    refused = meanwhile(scheduler, respond(scheduler, "yes", "ann"), respond(scheduler, "no", "bob"))
    assert isinstance(refused, ConflictError)
    assert "was answered by ann at" in str(refused)
    with scheduler.database.begin() as connection:
        (step,) = rows(connection, "SELECT chosen, answered_by FROM human_step")
    assert (step["chosen"], step["answered_by"]) == (["yes"], "ann")


def test_an_answer_to_a_task_that_is_marked_at_this_moment_is_refused(scheduler: TestScheduler) -> None:
    selected = Selection(dag_id="d", run_ids=("r",), task_ids=("fetch",))
    mark: Callable[[Any], Any] = lambda one: mark_selected(one, selected, "failed", now=scheduler.clock.now())  # noqa: E731
    assert isinstance(meanwhile(scheduler, mark, respond(scheduler, "yes", "ann")), NotFoundError)
