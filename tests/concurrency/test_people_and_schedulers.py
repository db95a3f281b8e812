"""A person changes a run at the very moment in which a scheduler does: whoever comes second sees what the first did."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Connection
from tests.support.marks import mark_task
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.waiting import wait_until

from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata import backfills, claims, clearing, marking
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.deciding.graph import GraphCache
from treadle_metadata.fresh_instances import instance_row
from treadle_metadata.identifiers import new_attempt_id
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_metadata.states import RunState, TaskState
from treadle_metadata.transitions import instances, queueing, runs
from treadle_scheduler.waking import Scope


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


@contextmanager
def meanwhile(database: Database, act: Callable[[Connection], Any]) -> Iterator[Connection]:
    """Yield a transaction; when the block ends, ``act`` has begun in another one and waits for it to be committed."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            database.run(act)
        except BaseException as error:
            errors.append(error)

    second = threading.Thread(target=run)
    with database.begin() as first:
        yield first
        second.start()
        wait_until(lambda: errors or waiting(database) or not second.is_alive(), 10)
    second.join(10)
    assert errors == []


def waiting(database: Database) -> bool:
    with database.begin() as connection:
        return bool(rows(connection, "SELECT FROM pg_locks WHERE NOT granted"))


def the_run(connection: Connection) -> dict[str, Any]:
    (run,) = rows(connection, "SELECT * FROM dag_run")
    return dict(run)


def test_a_task_cleared_while_its_run_ends_runs_again(scheduler: TestScheduler, clock: ManualClock) -> None:
    """A look at the run before its end is committed says that it is running, and that it need not be reopened."""
    scheduler.install(a_dag("d", TaskDocument("a"), TaskDocument("b")))
    run_id = scheduler.trigger("d")
    scheduler.executor.queue = scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]
    scheduler.beats()
    with scheduler.database.begin() as connection:
        mark_task(connection, "d", run_id, "a", "success", now=clock.now())
        mark_task(connection, "d", run_id, "b", "success", now=clock.now())
    selection = clearing.Selection(dag_id="d", task_ids=("a",))
    with meanwhile(scheduler.database, lambda other: clearing.clear(other, selection, now=clock.now())) as connection:
        run = the_run(connection)
        assert claims.claim_woken_runs(connection, now=clock.now(), most=10).rows
        runs.finish(connection, [run["id"]], RunState.SUCCESS, now=clock.now())
    assert scheduler.run_states("d") == {run_id: "queued"}


def test_a_run_marked_failed_while_it_is_given_instances_keeps_none_that_could_start(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    scheduler.install(a_dag("d", TaskDocument("a")))
    run_id = scheduler.trigger("d")
    scheduler.executor.queue = scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]
    scheduler.beats()

    def mark(other: Connection) -> None:
        marking.mark_run(other, "d", run_id, "failed", now=clock.now())

    with scheduler.database.begin() as connection:
        runs.wake(connection, [(the_run(connection)["id"], clock.now())])
    with meanwhile(scheduler.database, mark) as connection:
        (run,) = claims.claim_woken_runs(connection, now=clock.now(), most=10).rows
        graph = GraphCache().get(connection, [run["version_id"]])[run["version_id"]]
        new = [instance_row(graph, 0, run["id"], map_index, "scheduled") for map_index in range(3)]
        instances.insert_instances(connection, new, month=run["month"], now=clock.now())
    states = scheduler.task_states(run_id)
    assert states == {"a": "failed", "a[0]": "skipped", "a[1]": "skipped", "a[2]": "skipped"}


def test_a_task_marked_while_it_is_queued_is_told_to_end(scheduler: TestScheduler, clock: ManualClock) -> None:
    scheduler.install(a_dag("d", TaskDocument("a")))
    run_id = scheduler.trigger("d")
    with scheduler.database.begin() as connection:
        connection.exec_driver_sql("UPDATE slot_pool SET slots = 0")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "scheduled"}

    def mark(other: Connection) -> None:
        mark_task(other, "d", run_id, "a", "success", now=clock.now())

    with scheduler.database.listen() as listener:
        with meanwhile(scheduler.database, mark) as connection:
            (row,) = rows(connection, "SELECT * FROM task_instance FOR NO KEY UPDATE")
            picked = queueing.Picked(row["id"], new_attempt_id(), 1, the_run(connection)["version_id"], "x", 0.0, "x")
            queueing.queue(connection, [picked], month=row["month"], now=clock.now(), lease_until=clock.now())
        heard = [one.payload for one in listener.notifies(timeout=1, stop_after=1) if one.channel.endswith("terminate")]
    assert heard == [f"{picked.attempt_id} its task was marked success"]
    assert scheduler.task_states(run_id) == {"a": "success"}
    with scheduler.database.begin() as connection:
        assert rows(connection, "SELECT attempt_id FROM task_attempt") == []


def test_a_run_that_starts_while_its_backfill_is_cancelled_goes_on(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    schedule = ScheduleDocument(kind="cron", expressions=("0 0 * * *",), style="interval")
    scheduler.install(a_dag("d", TaskDocument("a"), schedule=schedule, start_date="2026-01-01T00:00:00+00:00"))
    day = datetime(2026, 1, 5, tzinfo=UTC)
    with scheduler.database.begin() as connection:
        made = backfills.create(connection, "d", day, day, now=clock.now())

    def cancel(other: Connection) -> None:
        assert made.id is not None
        backfills.cancel(other, made.id, now=clock.now())

    with meanwhile(scheduler.database, cancel) as connection:
        run = the_run(connection)
        assert runs.start(connection, claims.claim_queued_runs(connection, [run["id"]]), now=clock.now())
    assert list(scheduler.run_states("d").values()) == ["running"]


def test_marking_a_queued_run_never_waits_for_a_scheduler_that_waits_for_it(
    scheduler: TestScheduler, clock: ManualClock
) -> None:
    """Lock order: the scheduler holds the DAG and passes over runs that others hold (case A51)."""
    scheduler.install(a_dag("d", TaskDocument("a")), at_run_limit=True)
    run_id = scheduler.trigger("d")
    with scheduler.database.begin() as connection:
        run = the_run(connection)
        instances.end(connection, [run["id"]], TaskState.FAILED, month=run["month"], now=clock.now())
        rows(connection, "SELECT id FROM dag_run FOR NO KEY UPDATE")
        scheduler.loop.wake(Scope.EVERYTHING)
        scheduler.loop.beat()
        runs.finish(connection, [run["id"]], RunState.FAILED, now=clock.now())
    scheduler.beats()
    assert scheduler.run_states("d") == {run_id: "failed"}
