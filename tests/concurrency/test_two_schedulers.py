"""Several schedulers on one database at once: limits hold exactly, every task runs once."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bench.instant import InstantExecutor
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.waiting import wait_until

from treadle.document import TaskDocument
from treadle_metadata import execution
from treadle_metadata.clock import ManualClock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.identifiers import new_attempt_id
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_metadata.transitions import recording
from treadle_scheduler.context import Context
from treadle_scheduler.loop import Loop


class Crowd:
    """Loops in threads, each with a database connection pool and an executor of its own."""

    def __init__(self, settings: Settings, number: int) -> None:
        self.databases = [Database(settings.database_url) for _ in range(number)]
        self.executors = [InstantExecutor(one, replace(settings, executor="instant")) for one in self.databases]
        self.loops = [
            Loop(Context(database, SystemClock(), executor.settings, {"instant": executor}))
            for database, executor in zip(self.databases, self.executors, strict=True)
        ]
        self.errors: list[BaseException] = []
        self.threads = [threading.Thread(target=self._run, args=(loop,)) for loop in self.loops]
        for executor, loop in zip(self.executors, self.loops, strict=True):
            executor.start(loop.wake)

    def _run(self, loop: Loop) -> None:
        try:
            loop.wake(everywhere=True)
            loop.run()
        except BaseException as error:
            self.errors.append(error)

    def __enter__(self) -> Crowd:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for loop in self.loops:
            loop.stop()
        for thread in self.threads:
            thread.join(10)
        for database in self.databases:
            database.close()
        assert self.errors == []


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
    scheduler.executor.queue = scheduler.executor.taken.extend  # type: ignore[method-assign]
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
        assert not execution.record_starts(connection, [fresh], now=now, lease_until=now)[0]["accepted"]
        assert execution.record_finishes(connection, [fresh], now=now) == {workload["attempt_id"]}
        assert execution.record_finishes(connection, [fresh | {"outcome": "failed"}], now=now) == set()
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "success"}
    with database.begin() as connection:
        assert [row["outcome"] for row in rows(connection, "SELECT outcome FROM task_attempt")] == ["success"]
        assert [row["value"] for row in rows(connection, "SELECT value FROM xcom")] == ["1"]
