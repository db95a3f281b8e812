"""Several schedulers on one database at once: limits hold exactly, every task runs once."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection
from tests.support.crowds import Crowd
from tests.support.marks import mark_task
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.waiting import wait_until

from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata import backfills, clearing, execution, marking
from treadle_metadata.clearing import Selection
from treadle_metadata.clock import ManualClock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import ConflictError, NotFoundError
from treadle_metadata.identifiers import new_attempt_id
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_metadata.transitions import recording


def history(database: Database) -> list[Mapping[str, Any]]:
    with database.begin() as connection:
        return list(rows(connection, "SELECT * FROM state_transition ORDER BY id"))


def test_two_schedulers_never_start_a_run_too_many_and_run_each_task_once(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    """Cases A17 and A18, with two schedulers: 20 runs, limit 1."""
    with database.begin() as connection:
        recording.set_recording(connection, on=True)
    scheduler = TestScheduler(database, replace(settings, heartbeat_seconds=0.05), clock)
    clock.set(SystemClock().now())
    tasks = [TaskDocument("a"), TaskDocument("b", upstream=("a",))]
    scheduler.install(a_dag("single", *tasks, max_active_runs=1))
    for _ in range(20):
        scheduler.trigger("single")
    with Crowd(replace(settings, heartbeat_seconds=0.05), 2) as crowd:
        wait_until(lambda: set(scheduler.run_states("single").values()) == {"success"}, timeout=30)
    running, most = 0, 0
    for move in history(database):
        if move["entity"] == "dag_run":
            running += (move["new_state"] == "running") - (move["old_state"] == "running")
            most = max(most, running)
    assert most == 1
    taken = [(one["task_instance_id"], one["try_number"]) for executor in crowd.executors for one in executor.taken]
    assert len(taken) == len(set(taken)) == 40


def test_a_worker_that_lost_its_attempt_cannot_start_heartbeat_or_finish_it(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler = TestScheduler(database, settings, clock)
    scheduler.install(a_dag("fenced", TaskDocument("a")))
    run_id = scheduler.trigger("fenced")
    scheduler.executor.queue = scheduler.executor.taken.extend  # type: ignore[method-assign, assignment]
    scheduler.beats()
    workload = scheduler.executor.taken[0]
    report: dict[str, Any] = {
        "task_instance_id": workload["task_instance_id"],
        "month": workload["month"],
        "hostname": "h",
        "started_at": clock.now().isoformat(),
        "ended_at": clock.now().isoformat(),
        "outcome": "success",
        "xcoms": [{"key": "return_value", "value": "1", "length": None}],
    }
    stale = report | {"attempt_id": str(new_attempt_id())}
    fresh = report | {"attempt_id": workload["attempt_id"]}
    now = clock.now()
    with database.begin() as connection:
        assert not execution.record_starts(connection, [stale], now=now, lease_until=now)[0]["accepted"]
        assert execution.record_heartbeats(connection, [stale], lease_until=now) == set()
        assert execution.record_finishes(connection, [stale], now=now) == set()
    assert scheduler.task_states(run_id) == {"a": "queued"}
    with database.begin() as connection:
        assert execution.record_starts(connection, [fresh], now=now, lease_until=now)[0]["accepted"]
        twice = fresh | {"hostname": "another"}
        assert not execution.record_starts(connection, [twice], now=now, lease_until=now)[0]["accepted"]
        assert execution.record_finishes(connection, [fresh], now=now) == {workload["attempt_id"]}
        assert execution.record_finishes(connection, [fresh | {"outcome": "failed"}], now=now) == set()
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "success"}
    with database.begin() as connection:
        assert [row["outcome"] for row in rows(connection, "SELECT outcome FROM task_attempt")] == ["success"]
        assert [row["value"] for row in rows(connection, "SELECT value FROM xcom")] == ["1"]


def test_two_schedulers_keep_the_limit_of_a_backfill_and_run_each_date_once(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    """Case A17: 20 days, limit 1. Case A15: the same dates of another DAG are left alone."""
    clock.set(SystemClock().now())
    scheduler = TestScheduler(database, settings, clock)
    schedule = ScheduleDocument(kind="cron", expressions=("0 0 * * *",), style="interval")
    for name in ("filled", "other"):
        document = a_dag(name, TaskDocument("a"), schedule=schedule, start_date="2025-01-01T00:00:00+00:00")
        scheduler.install(document)
    first, last = datetime(2025, 5, 1, tzinfo=UTC), datetime(2025, 5, 20, tzinfo=UTC)
    untouched = scheduler.trigger("other", logical_date=first)
    scheduler.beats()
    with database.begin() as connection:
        made = backfills.create(connection, "filled", first, last, max_active_runs=1, now=clock.now())
    with Crowd(replace(settings, heartbeat_seconds=0.05), 2) as crowd:
        wait_until(lambda: set(scheduler.run_states("filled").values()) == {"success"}, timeout=30)
    running, most = 0, 0
    for move in history(database):
        if move["entity"] == "dag_run" and made.id is not None:
            running += (move["new_state"] == "running") - (move["old_state"] == "running")
            most = max(most, running)
    assert most == 1
    taken = [one["task_instance_id"] for executor in crowd.executors for one in executor.taken]
    assert len(taken) == len(set(taken)) == 20
    assert scheduler.run_states("other") == {untouched: "success"}


def test_three_schedulers_and_people_who_change_everything_get_in_nobodys_way(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    """Case A51: clears and marks all the time; no scheduler ends, no change fails, every run does end."""
    clock.set(SystemClock().now())
    scheduler = TestScheduler(database, settings, clock)
    tasks = [TaskDocument("a"), *(TaskDocument(f"b{n}", upstream=("a",)) for n in range(8))]
    for n in range(4):
        scheduler.install(a_dag(f"d{n}", *tasks, max_active_runs=2))
        for _ in range(4):
            scheduler.trigger(f"d{n}")
    chance = random.Random(7)

    def change(connection: Connection) -> None:
        dag_id, now = f"d{chance.randrange(4)}", SystemClock().now()
        run_id = chance.choice(list(scheduler.run_states(dag_id)))
        selection = Selection(dag_id=dag_id, task_ids=("a",), include_downstream=True)
        kind = chance.randrange(3)
        with suppress(ConflictError, NotFoundError):  # it is in that state already, or has not started
            if kind == 0:
                clearing.clear(connection, selection, now=now)
            elif kind == 1:
                mark_task(connection, dag_id, run_id, "b0", "failed", now=now)
            else:
                marking.mark_run(connection, dag_id, run_id, chance.choice(["success", "failed"]), now=now)

    with Crowd(replace(settings, heartbeat_seconds=0.05), 3):
        for _ in range(60):
            database.run(change)
        for n in range(4):
            wait_until(
                lambda n=n: set(scheduler.run_states(f"d{n}").values()) <= {"success", "failed"},  # type: ignore[misc]
                timeout=30,
            )
    with database.begin() as connection:
        assert not rows(
            connection,
            """
            SELECT state FROM task_instance
            WHERE state NOT IN ('success', 'failed', 'skipped', 'upstream_failed') OR lease_until IS NOT NULL
            """,
        )
        assert not rows(connection, "SELECT attempt_id FROM task_attempt WHERE outcome IS NULL")
