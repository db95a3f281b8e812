"""Attempts by way of Celery, Redis and HTTP, with real processes, some of them killed (cases C1, C2, C4, C17, C18)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection
from tests.support.celery_service import CeleryService, celery_service
from tests.support.redis_server import RedisServer
from tests.support.waiting import wait_until

from treadle_metadata.connection import Database

TASKS = 40


@pytest.fixture
def installation(home: Path, own_database: Database) -> Iterator[CeleryService]:
    """A scheduler and all else but workers."""
    with celery_service(home, own_database) as one:
        yield one


@pytest.fixture
def running(installation: CeleryService) -> CeleryService:
    """An installation with one worker whose run is well under way."""
    installation.install(TASKS, seconds=0.1)
    installation.start()
    installation.start_worker("-c", "4")
    installation.trigger()
    wait_until(lambda: installation.finished() >= 4, 40)
    return installation


def charged(installation: CeleryService) -> int:
    """Return how many attempts were charged without success."""
    return int(installation.select("SELECT count(*) AS n FROM task_attempt WHERE outcome = 'failed'")[0]["n"])


def test_a_worker_told_to_stop_hands_its_attempts_back_and_another_goes_on(running: CeleryService) -> None:
    """Case C17."""
    running.workers[0].send_signal(signal.SIGTERM)
    running.start_worker("-c", "4")
    assert running.workers[0].wait(20) == 0
    running.wait_for_end()
    running.assert_ended_right(TASKS, kills=0)
    assert charged(running) == 0


def has_just_begun(installation: CeleryService) -> bool:
    """Tell whether a task of a second runs that will not have ended in the next moment."""
    begun = "SELECT 1 FROM task_instance WHERE state = 'running' AND started_at > now() - interval '0.5 s'"
    return bool(installation.select(begun))


def test_a_killed_worker_costs_its_attempts_and_another_goes_on(installation: CeleryService) -> None:
    """Case C4: nothing waits for the broker's visibility time-out."""
    installation.install(12, seconds=1.0)
    installation.start()
    installation.start_worker("-c", "4")
    installation.trigger()
    wait_until(lambda: has_just_begun(installation), 40)
    installation.workers[0].kill()
    installation.start_worker("-c", "4")
    installation.wait_for_end()
    installation.assert_ended_right(12, kills=1)
    assert 0 < charged(installation) <= 4


def test_a_broker_that_dies_and_forgets_everything_loses_no_task(running: CeleryService) -> None:
    """Case C18."""
    running.broker.kill()
    running.broker.start()
    # Celery connects again after pauses of up to 30 s.
    running.wait_for_end(120)
    running.assert_ended_right(TASKS, kills=0)


def test_a_message_that_comes_again_while_its_attempt_runs_changes_nothing(installation: CeleryService) -> None:
    """Cases C1 and C2: the visibility time-out of the running attempts is over, which some worker finds out."""
    installation.install(2, seconds=4.0)
    installation.start()
    installation.start_worker("-c", "4")
    installation.trigger()
    wait_until(lambda: len(installation.executions()) == 2, 40)
    assert isinstance(installation.broker, RedisServer)
    redis = installation.broker.client
    held: Any = redis.zrange("unacked_index", 0, -1)
    assert len(held) == 2
    redis.zadd("unacked_index", dict.fromkeys(held, 0))
    # Workers look for such messages every ten seconds; so does whoever calls what they call.
    with Connection(installation.broker.url) as connection:
        connection.channel().qos.restore_visible(interval=1)
    # Given out again means: entered anew with the time of now.
    wait_until(lambda: all(redis.zscore("unacked_index", one) is None for one in held), 40)
    assert installation.run_state() == "running"
    installation.wait_for_end()
    installation.assert_ended_right(2, kills=0)
    assert (charged(installation), installation.executions()) == (0, {0: 1, 1: 1})
    assert (installation.home / "worker.log").read_text().count("its message came twice") == 2

    def said(what: str) -> list[int]:
        return [one.read_text().count(what) for one in (installation.home / "logs").rglob("attempt=1.*.jsonl")]

    wait_until(lambda: said("Returned value: ") == [1, 1], 20)
    assert said("counted ") == [1, 1]


def test_logs_reach_the_server_while_the_task_runs_and_are_whole_in_the_end(installation: CeleryService) -> None:
    """The worker's own folder of logs is not the server's."""
    installation.install(1, seconds=3.0)
    installation.start()
    installation.start_worker("-c", "1")
    installation.trigger()
    server_logs = installation.home / "logs"
    wait_until(lambda: any("counted 0" in one.read_text() for one in server_logs.rglob("attempt=1.*.jsonl")), 40)
    assert installation.run_state() == "running"
    installation.wait_for_end()
    (log,) = server_logs.rglob("attempt=1.*.jsonl")
    wait_until(lambda: "Returned value: 0" in log.read_text(), 20)
    assert log.read_text().count("counted 0") == 1


def test_a_web_server_that_is_away_as_attempts_end_costs_none_of_them(home: Path, own_database: Database) -> None:
    """Case C7: away for less than a lease, whatever it answers meanwhile; the worker reports when it is back."""
    with celery_service(home, own_database, TREADLE_LEASE_SECONDS="30") as one:
        one.install(4, seconds=1.0)
        one.start()
        one.start_worker("-c", "4")
        one.trigger()
        wait_until(lambda: len(one.executions()) == 4, 40)
        assert one.web is not None
        one.web.kill()
        one.web.wait()
        log = home / "worker.log"
        wait_until(lambda: "cannot be reached, trying again" in log.read_text(), 20)
        one.start_web()
        one.wait_for_end()
        one.assert_ended_right(4, kills=0)
        assert (charged(one), one.executions()) == (0, dict.fromkeys(range(4), 1))
