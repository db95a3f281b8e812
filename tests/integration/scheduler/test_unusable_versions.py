"""A version of a DAG that this release cannot read holds up nothing but its own runs, and those can be ended."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata import marking
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.queries.why import why_is_run_not_running
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_scheduler.duties.advance_runs import advance_runs
from treadle_scheduler.duties.start_runs import start_runs

TASKS = (TaskDocument("a"), TaskDocument("b", upstream=("a",)))
HOURLY = ScheduleDocument(kind="delta", seconds=3600.0)


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def change(scheduler: TestScheduler, upstream: str) -> None:
    """Let ``b`` of the DAG ``broken`` wait for another task, in the stored document; the scheduler begins anew."""
    with scheduler.database.begin() as connection:
        execute(
            connection,
            """
            UPDATE dag_version SET document = jsonb_set(document, '{tasks,1,upstream,0}', to_jsonb(%(name)s::text))
            WHERE dag_id = 'broken'
            """,
            {"name": upstream},
        )
    scheduler.context.graphs = type(scheduler.context.graphs)()


def warnings(scheduler: TestScheduler) -> list[Mapping[str, Any]]:
    with scheduler.database.begin() as connection:
        return list(rows(connection, "SELECT dag_id, kind, message FROM dag_warning ORDER BY dag_id, kind"))


def test_runs_of_other_dags_start_and_it_starts_with_a_release_that_can_read_it(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    for name in ("broken", "sound"):
        scheduler.install(a_dag(name, *TASKS))
    change(scheduler, "nobody")
    broken, sound = (scheduler.trigger(name) for name in ("broken", "sound"))
    scheduler.beats()
    assert scheduler.run_states("sound") == {sound: "success"}
    assert scheduler.run_states("broken") == {broken: "queued"}
    (warning,) = warnings(scheduler)
    assert (warning["dag_id"], warning["kind"]) == ("broken", "evaluation")
    assert f"run {broken!r} cannot be advanced" in warning["message"]
    assert "nobody" in warning["message"]
    with scheduler.database.begin() as connection:
        why = why_is_run_not_running(connection, "broken", broken, now=clock.now(), settings=scheduler.context.settings)
    assert why.reason == "evaluation_error"

    change(scheduler, "a")
    scheduler.beats()
    assert scheduler.run_states("broken") == {broken: "success"}
    assert warnings(scheduler) == []


def test_ready_tasks_of_other_dags_are_queued(scheduler: TestScheduler) -> None:
    for name in ("broken", "sound"):
        scheduler.install(a_dag(name, *TASKS))
    broken, sound = (scheduler.trigger(name) for name in ("broken", "sound"))
    start_runs(scheduler.context)
    advance_runs(scheduler.context)
    change(scheduler, "nobody")
    scheduler.beats()
    assert scheduler.run_states("sound") == {sound: "success"}
    assert scheduler.task_states(broken) == {"a": "scheduled", "b": "none"}


def test_schedules_of_other_dags_go_on(scheduler: TestScheduler, clock: ManualClock) -> None:
    for name in ("broken", "sound"):
        scheduler.install(a_dag(name, *TASKS, schedule=HOURLY), next_run_at=clock.now())
    change(scheduler, "nobody")
    clock.advance(timedelta(hours=1))
    scheduler.beats()
    assert set(scheduler.run_states("sound").values()) == {"success"}
    assert scheduler.run_states("broken") == {}
    (warning,) = warnings(scheduler)
    assert (warning["dag_id"], warning["kind"]) == ("broken", "schedule")
    change(scheduler, "a")
    clock.advance(timedelta(minutes=2))
    scheduler.beats()
    assert set(scheduler.run_states("broken").values()) == {"success"}
    assert warnings(scheduler) == []


def test_its_runs_can_be_ended(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("broken", *TASKS))
    run = scheduler.trigger("broken")
    start_runs(scheduler.context)
    change(scheduler, "nobody")
    with scheduler.database.begin() as connection:
        marking.mark_run(connection, "broken", run, "failed", now=scheduler.clock.now())
    assert scheduler.run_states("broken") == {run: "failed"}
    assert scheduler.task_states(run) == {"a": "skipped", "b": "skipped"}
