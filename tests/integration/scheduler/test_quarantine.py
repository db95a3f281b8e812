"""A run that cannot be advanced is set aside alone: its batch goes on, people are told, and it is tried again."""

from __future__ import annotations

from datetime import timedelta
from operator import itemgetter
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.versions import add_version

from treadle.document import TaskDocument
from treadle_metadata import processes
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.queries.why import why_is_run_not_running
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_scheduler.advancing import Advanced, advance
from treadle_scheduler.duties import advance_runs as duty
from treadle_scheduler.waking import Scope
from treadle_worker.protocol import Workload

POISON = "no_such_rule"


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def set_rule(scheduler: TestScheduler, dag_id: str, rule: str) -> None:
    """Change the trigger rule of ``b`` in the stored document, behind the scheduler's back."""
    with scheduler.database.begin() as connection:
        execute(
            connection,
            """
            UPDATE dag_version SET document = jsonb_set(document, '{tasks,1,trigger_rule}', to_jsonb(%(rule)s::text))
            WHERE dag_id = %(dag_id)s
            """,
            {"dag_id": dag_id, "rule": rule},
        )
    scheduler.context.graphs = type(scheduler.context.graphs)()


def warnings(scheduler: TestScheduler) -> list[dict[str, Any]]:
    with scheduler.database.begin() as connection:
        return [dict(row) for row in rows(connection, "SELECT dag_id, kind, message FROM dag_warning")]


def test_a_poisoned_run_holds_up_no_other_and_is_told_of_and_tried_again(
    scheduler: TestScheduler, clock: ManualClock, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("good", "poisoned", "sound"):
        scheduler.install(a_dag(name, TaskDocument("a"), TaskDocument("b", upstream=("a",))))
    set_rule(scheduler, "poisoned", POISON)
    run_ids = {name: scheduler.trigger(name) for name in ("good", "poisoned", "sound")}
    for _ in range(5):  # so many beats as a run of two tasks takes
        scheduler.loop.wake(Scope.EVERYTHING)
        scheduler.loop.beat()
    assert scheduler.run_states("good") == {run_ids["good"]: "success"}
    assert scheduler.run_states("sound") == {run_ids["sound"]: "success"}
    assert scheduler.run_states("poisoned") == {run_ids["poisoned"]: "running"}
    assert f"run {run_ids['poisoned']!r} of DAG 'poisoned'" in caplog.text
    (warning,) = warnings(scheduler)
    assert (warning["dag_id"], warning["kind"]) == ("poisoned", "evaluation")
    assert POISON in warning["message"]

    with scheduler.database.begin() as connection:
        processes.register(connection, "scheduler", clock.now(), 3600.0)
        why = why_is_run_not_running(connection, "poisoned", run_ids["poisoned"], now=clock.now(), settings=settings)
    assert why.reason == "evaluation_error"
    assert POISON in why.sentence

    set_rule(scheduler, "poisoned", "all_success")
    clock.advance(timedelta(minutes=10))
    scheduler.beats()
    assert scheduler.run_states("poisoned") == {run_ids["poisoned"]: "success"}
    assert warnings(scheduler) == []


def test_a_run_that_fails_again_and_again_is_tried_ever_more_seldom(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    scheduler.install(a_dag("poisoned", TaskDocument("a"), TaskDocument("b", upstream=("a",))))
    set_rule(scheduler, "poisoned", POISON)
    scheduler.trigger("poisoned")
    waits = []
    for _ in range(8):
        scheduler.loop.wake(Scope.EVERYTHING)
        scheduler.loop.beat()
        with scheduler.database.begin() as connection:
            (row,) = rows(connection, "SELECT min(due_at) AS due_at FROM run_wakeup")
        waits.append(round((row["due_at"] - clock.now()).total_seconds()))
        clock.set(row["due_at"])
    assert waits == [5, 10, 20, 40, 80, 160, 300, 300]


def test_the_next_scheduler_takes_back_what_was_told_by_one_that_died(
    scheduler: TestScheduler, database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler.install(a_dag("poisoned", TaskDocument("a"), TaskDocument("b", upstream=("a",))))
    set_rule(scheduler, "poisoned", POISON)
    run = scheduler.trigger("poisoned")
    scheduler.beats()
    assert len(warnings(scheduler)) == 1
    following = TestScheduler(database, settings, clock)
    set_rule(following, "poisoned", "all_success")
    clock.advance(timedelta(minutes=10))
    following.beats()
    assert following.run_states("poisoned") == {run: "success"}
    assert warnings(following) == []


def test_a_run_that_goes_well_takes_nothing_back_that_was_told_of_another(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", TaskDocument("a"), TaskDocument("b", upstream=("a",))))
    set_rule(scheduler, "d", POISON)
    poisoned = scheduler.trigger("d")
    scheduler.beats()
    with scheduler.database.begin() as connection:
        good = a_dag("d", TaskDocument("a"))
        add_version(connection, good, now=scheduler.clock.now())
    run = scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.run_states("d") == {poisoned: "running", run: "success"}
    (warning,) = warnings(scheduler)
    assert poisoned in warning["message"]


def test_what_a_failing_scheduler_was_told_of_is_missed_by_no_other(
    scheduler: TestScheduler,
    database: Database,
    settings: Settings,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first one remembers the run; the other takes the wake-up, and cannot advance it."""
    other, held = TestScheduler(database, settings, clock), list[Workload]()
    plain, scheduler.executor.queue = scheduler.executor.queue, held.extend  # type: ignore[method-assign, assignment]
    z = TaskDocument("z", upstream=("x", "y"), trigger_rule="one_success")
    scheduler.install(a_dag("d", TaskDocument("x"), TaskDocument("y"), z))
    run = scheduler.trigger("d")
    scheduler.beats()
    x, y = sorted(held, key=itemgetter("task_id"))
    plain([x])

    def fail(*_: object, **__: object) -> int:
        raise RuntimeError("a fault of this scheduler alone")

    with monkeypatch.context() as patched:
        patched.setattr(duty, "advance", fail)
        duty.advance_runs(other.context)
    assert len(warnings(scheduler)) == 1
    scheduler.executor.outcome = lambda _: {"outcome": "failed"}
    plain([y])
    duty.advance_runs(scheduler.context)
    assert scheduler.task_states(run) == {"x": "success", "y": "failed", "z": "scheduled"}


def test_a_run_of_which_the_database_can_never_store_something_holds_up_no_other(
    scheduler: TestScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """psycopg calls that an operational error, as it calls a database that is away."""
    for name in ("good", "poisoned"):
        scheduler.install(a_dag(name, TaskDocument("a"), TaskDocument("b", upstream=("a",))))
    run_ids = {name: scheduler.trigger(name) for name in ("good", "poisoned")}

    def too_large(connection: Any, context: Any, woken: Any, *arguments: Any, **keywords: Any) -> Advanced:
        if any(run["dag_id"] == "poisoned" for run in woken):
            execute(connection, "SELECT repeat('x', 1073741823)")
        return advance(connection, context, woken, *arguments, **keywords)

    monkeypatch.setattr(duty, "advance", too_large)
    scheduler.beats()
    assert scheduler.run_states("good") == {run_ids["good"]: "success"}
    assert scheduler.run_states("poisoned") == {run_ids["poisoned"]: "running"}
