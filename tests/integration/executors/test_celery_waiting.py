"""The Celery executor by itself, with a real Redis and no worker: what waits, what is lost, what cannot be reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest
from tests.support.holding import hold
from tests.support.redis_server import RedisServer
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.waiting import wait_until

from treadle.document import TaskDocument
from treadle_executors.celery.broker import Broker
from treadle_executors.celery.executor import CeleryExecutor
from treadle_executors.conformance import make_workload
from treadle_executors.errors import BrokerError
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import tuples
from treadle_worker.protocol import Workload


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis that runs."""
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.close()


@pytest.fixture
def quick(settings: Settings, redis: RedisServer) -> Settings:
    """Settings of an executor that looks often."""
    return replace(settings, broker_url=redis.url, lease_seconds=1.0, lease_renewal_seconds=0.05)


@pytest.fixture
def executor(database: Database, quick: Settings, clock: ManualClock) -> Iterator[CeleryExecutor]:
    """The executor, started."""
    executor = CeleryExecutor(database, quick, clock)
    executor.start(lambda: None)
    yield executor
    executor.end()


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    """A scheduler whose own executor starts nothing."""
    return TestScheduler(database, settings, clock)


def queued(scheduler: TestScheduler, task: TaskDocument) -> Workload:
    """Have a task queued and return what was to be handed over."""
    hold(scheduler, unstarted=(task.task_id,))
    scheduler.install(a_dag("d", task))
    scheduler.trigger("d", run_id="r")
    scheduler.beats()
    (workload,) = scheduler.context.executors["instant"].taken  # type: ignore[attr-defined]
    return cast("Workload", {**workload, "file_hash": "one"})


def lease(database: Database, attempt_id: str, table: str = "task_instance") -> object:
    with database.begin() as connection:
        sql = f"SELECT lease_until FROM {table} WHERE attempt_id = %(id)s"
        ((until,),) = tuples(connection, sql, {"id": attempt_id})
    return until


def test_an_attempt_that_waits_keeps_its_lease(
    executor: CeleryExecutor, scheduler: TestScheduler, redis: RedisServer, clock: ManualClock, database: Database
) -> None:
    workload = queued(scheduler, TaskDocument("a"))
    executor.queue([workload])
    wait_until(lambda: redis.client.llen("default") == 1)
    clock.advance(timedelta(seconds=100))
    wait_until(lambda: lease(database, workload["attempt_id"]) == clock.now() + timedelta(seconds=1))


def test_a_callback_that_waits_keeps_its_lease_too(
    executor: CeleryExecutor, scheduler: TestScheduler, clock: ManualClock, database: Database
) -> None:
    scheduler.install(a_dag("d", TaskDocument("a")))
    scheduler.trigger("d", run_id="r")
    with database.begin() as connection:
        sql = """
            INSERT INTO callback (dag_run_id, event, version_id, facts, created_at, state, attempt_id, lease_until)
            SELECT id, 'run_success', version_id, '{}', %(now)s, 'queued', gen_random_uuid(), %(now)s FROM dag_run
            RETURNING attempt_id::text
        """
        ((attempt_id,),) = tuples(connection, sql, {"now": clock.now()})
    facts = make_workload("")
    told = {"id": 1, "event": "run_success", "position": None, "facts": {}, "limit": 1.0}
    executor.queue([{**facts, "attempt_id": attempt_id, "task_instance_id": 0, "callback": told}])  # type: ignore[typeddict-item]
    clock.advance(timedelta(seconds=100))
    wait_until(lambda: lease(database, attempt_id, "callback") == clock.now() + timedelta(seconds=1))
    assert executor.adopt([UUID(attempt_id)]) == {UUID(attempt_id)}


def test_a_message_that_the_broker_has_lost_is_published_again(
    executor: CeleryExecutor, scheduler: TestScheduler, redis: RedisServer
) -> None:
    executor.queue([queued(scheduler, TaskDocument("a"))])
    wait_until(lambda: redis.client.llen("default") == 1)
    redis.client.flushall()
    wait_until(lambda: redis.client.llen("default") == 1)


def test_a_broker_that_was_away_is_asked_for_its_queues_again(quick: Settings, redis: RedisServer) -> None:
    broker = Broker(quick)
    assert broker.lengths({"default"}) == {"default": 0}
    redis.kill()
    for _ in range(2):
        with pytest.raises(BrokerError):
            broker.lengths({"default"})
    redis.start()
    assert broker.lengths({"default"}) == {"default": 0}
    broker.close()


def test_a_queue_from_which_no_worker_takes_is_told(executor: CeleryExecutor, scheduler: TestScheduler) -> None:
    executor.queue([queued(scheduler, TaskDocument("a", queue="gpu"))])
    wait_until(lambda: bool(executor.troubles()))
    (trouble,) = executor.troubles()
    assert (trouble.sentence, trouble.queue) == ("no worker takes from queue 'gpu'", "gpu")


def test_a_broker_that_is_away_at_the_start_gets_its_attempts_later(
    quick: Settings, database: Database, clock: ManualClock, redis: RedisServer, scheduler: TestScheduler
) -> None:
    redis.kill()
    executor = CeleryExecutor(database, quick, clock)
    executor.start(lambda: None)
    try:
        executor.queue([queued(scheduler, TaskDocument("a"))])
        wait_until(lambda: bool(executor.troubles()))
        assert f"the broker {redis.url} cannot be used" in executor.troubles()[0].sentence
        redis.start()
        wait_until(lambda: redis.client.llen("default") == 1, 20)
        wait_until(lambda: executor.troubles() == [])
    finally:
        executor.end()


def test_wrong_credentials_are_told_without_them(
    quick: Settings,
    database: Database,
    clock: ManualClock,
    redis: RedisServer,
    scheduler: TestScheduler,
    caplog: pytest.LogCaptureFixture,
) -> None:
    redis.client.config_set("requirepass", "the right one")
    wrong = replace(quick, broker_url=redis.url.replace("redis://", "redis://:the-wrong-one@"))
    executor = CeleryExecutor(database, wrong, clock)
    executor.start(lambda: None)
    try:
        executor.queue([queued(scheduler, TaskDocument("a"))])
        wait_until(lambda: bool(executor.troubles()))
        sentence = executor.troubles()[0].sentence
    finally:
        executor.end()
    assert "invalid username-password" in sentence
    assert sentence in caplog.text
    assert "the-wrong-one" not in caplog.text


def test_workloads_that_cannot_run_are_rejected_in_words_and_hold_up_no_other(
    executor: CeleryExecutor, scheduler: TestScheduler, redis: RedisServer
) -> None:
    good = queued(scheduler, TaskDocument("a"))
    month, path = make_workload("quick", month="soon"), make_workload("quick", log_path="../../etc/passwd")
    nameless = make_workload("quick", attempt_id="x", log_path="/etc/passwd")
    executor.queue([month, path, nameless, good])
    events = {str(one.attempt_id): (one.kind, one.reason) for one in executor.events()}
    assert set(events) == {month["attempt_id"], path["attempt_id"]}
    assert "month" in events[month["attempt_id"]][1]
    assert "log_path" in events[path["attempt_id"]][1]
    wait_until(lambda: redis.client.llen("default") == 1)


def test_ending_hands_back_what_waits(database: Database, quick: Settings, clock: ManualClock) -> None:
    executor = CeleryExecutor(database, quick, clock)
    workload = make_workload("quick")
    executor.queue([workload])
    executor.end()
    assert [(one.kind, str(one.attempt_id)) for one in executor.events()] == [("handed_back", workload["attempt_id"])]
