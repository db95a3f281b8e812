"""Marking task instances, with what is up or down stream of them and in the runs around; the preview is the effect."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.statements import recorded_statements

from treadle.document import TaskDocument
from treadle_metadata import marking, run_marks
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.selecting import Selection
from treadle_metadata.settings import Settings
from treadle_metadata.statements import tuples

CHAIN = (TaskDocument("a"), TaskDocument("b", upstream=("a",)), TaskDocument("c", upstream=("b",)))


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    made = TestScheduler(database, settings, clock)
    made.executor.outcome = lambda one: {"outcome": "failed" if one["task_id"] == "b" else "success"}
    made.install(a_dag("d", *CHAIN))
    return made


def mark(scheduler: TestScheduler, state: str, **chosen: Any) -> list[tuple[str, str, str]]:
    """Mark, after checking that the preview says the same; return (run, task, action) of each change."""
    selection = Selection(dag_id="d", **chosen)
    with scheduler.database.begin() as connection:
        shown = marking.plan_marks(connection, selection, state)
    with scheduler.database.begin() as connection:
        done = marking.mark_selected(connection, selection, state, now=scheduler.clock.now())
    assert done.changes == shown.changes
    return [(one["run_id"], one["task_id"], one["action"]) for one in done.changes]


def dated(scheduler: TestScheduler, day: int) -> str:
    moment = datetime(2026, 1, day, tzinfo=UTC)
    return scheduler.trigger("d", run_id=f"day{day}", logical_date=moment)


def test_what_could_not_run_below_runs_when_the_failed_task_is_marked_a_success(scheduler: TestScheduler) -> None:
    run_id = scheduler.trigger("d", run_id="r")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "success", "b": "failed", "c": "upstream_failed"}
    assert mark(scheduler, "success", run_id="r", task_ids=("b",)) == [("r", "b", "success"), ("r", "c", "clear")]
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "success", "b": "success", "c": "success"}
    assert scheduler.run_states("d") == {"r": "success"}


def test_marks_of_many_runs_and_attempts_cost_the_same_statements_as_of_few(scheduler: TestScheduler) -> None:
    for day in range(1, 21):
        dated(scheduler, day)
    scheduler.beats(200)
    counts = []
    for last in (datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 20, tzinfo=UTC)):
        with recorded_statements(scheduler.database) as seen:
            mark(scheduler, "success", task_ids=("b",), end_date=last)
        counts.append(len(seen))
    assert set(scheduler.run_states("d").values()) == {"queued"}
    assert counts[0] == counts[1]


def test_the_end_of_all_attempts_of_a_run_is_ordered_in_one_statement(scheduler: TestScheduler) -> None:
    counts = []
    for dag_id, number in (("few", 2), ("many", 12)):
        scheduler.install(a_dag(dag_id, *(TaskDocument(f"t{one}") for one in range(number))))
        run_id = scheduler.trigger(dag_id)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scheduler.executor, "queue", lambda _: None)
            scheduler.beats()
        with recorded_statements(scheduler.database) as seen, scheduler.database.begin() as connection:
            marking.mark_run(connection, dag_id, run_id, "failed", now=scheduler.clock.now())
        assert set(scheduler.task_states(run_id).values()) == {"failed"}
        counts.append(len(seen))
    assert counts[0] == counts[1]


def test_a_task_marked_failed_reopens_nothing(scheduler: TestScheduler) -> None:
    scheduler.trigger("d", run_id="r")
    scheduler.beats()
    assert mark(scheduler, "failed", run_id="r", task_ids=("a",)) == [("r", "a", "failed")]
    scheduler.beats()
    assert scheduler.run_states("d") == {"r": "failed"}


@pytest.mark.parametrize(
    ("around", "expected"),
    [
        ({}, {("day2", "b")}),
        ({"include_upstream": True}, {("day2", "a"), ("day2", "b")}),
        ({"include_downstream": True}, {("day2", "b"), ("day2", "c")}),
        ({"include_past": True}, {("day1", "b"), ("day2", "b")}),
        ({"include_future": True}, {("day2", "b"), ("day3", "b")}),
    ],
)
def test_neighbours_in_the_dag_and_in_time_are_marked_with_it(
    scheduler: TestScheduler, around: dict[str, bool], expected: set[tuple[str, str]]
) -> None:
    for day in (1, 2, 3):
        dated(scheduler, day)
    scheduler.beats()
    found = mark(scheduler, "skipped", run_id="day2", task_ids=("b",), **around)
    assert {(run, task) for run, task, action in found if action == "skipped"} == expected


def test_an_unknown_task_or_state_is_refused(scheduler: TestScheduler) -> None:
    scheduler.trigger("d", run_id="r")
    scheduler.beats()
    with pytest.raises(InvalidRequestError, match="no task 'x'; it has a, b, c"):
        mark(scheduler, "success", run_id="r", task_ids=("x",))
    with pytest.raises(InvalidRequestError, match="success, failed or skipped, not to 'running'"):
        mark(scheduler, "running", run_id="r", task_ids=("a",))


def test_the_preview_of_a_run_that_is_marked_names_what_it_ends(scheduler: TestScheduler) -> None:
    scheduler.executor.queue = scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]
    scheduler.trigger("d", run_id="r")
    scheduler.beats()
    with scheduler.database.begin() as connection:
        shown = run_marks.plan_run_mark(connection, "d", "r", "failed").changes
        marking.mark_run(connection, "d", "r", "failed", now=scheduler.clock.now())
    assert {one["task_id"]: one["new_state"] for one in shown} == scheduler.task_states("r")


def test_what_had_ended_keeps_its_end_when_it_is_marked_and_so_does_its_run(scheduler: TestScheduler) -> None:
    scheduler.trigger("d", run_id="r")
    scheduler.beats()
    before = _ends(scheduler)
    scheduler.clock.advance(timedelta(minutes=5))
    with scheduler.database.begin() as connection:
        marking.mark_run(connection, "d", "r", "success", now=scheduler.clock.now())
    assert _ends(scheduler) == before
    mark(scheduler, "failed", run_id="r", task_ids=("a",))
    assert _ends(scheduler)["a"] == before["a"]


def _ends(scheduler: TestScheduler) -> dict[str, Any]:
    with scheduler.database.begin() as connection:
        return dict(
            tuples(
                connection,
                "SELECT task_id, ended_at FROM task_instance UNION ALL SELECT 'run', ended_at FROM dag_run",
            )
        )
