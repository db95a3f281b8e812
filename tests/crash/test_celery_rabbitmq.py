"""Attempts by way of Celery and RabbitMQ; asked for with ``TREADLE_TEST_RABBITMQ`` (tests.support.rabbitmq_server)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.celery_service import CeleryService, celery_service
from tests.support.rabbitmq_server import PROGRAM, RabbitServer
from tests.support.waiting import wait_until

from treadle_executors.celery.broker import Broker
from treadle_executors.conformance import make_workload
from treadle_executors.errors import BrokerError
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings

pytestmark = pytest.mark.skipif(not PROGRAM, reason="TREADLE_TEST_RABBITMQ does not name a rabbitmq-server")

TASKS = 20


@pytest.fixture
def installation(home: Path, own_database: Database) -> Iterator[CeleryService]:
    """A scheduler and all else but workers."""
    with celery_service(home, own_database, RabbitServer(home)) as one:
        yield one


def charged(installation: CeleryService) -> int:
    """Return how many attempts were charged without success."""
    return int(installation.select("SELECT count(*) AS n FROM task_attempt WHERE outcome = 'failed'")[0]["n"])


def running(installation: CeleryService) -> int:
    """Return how many attempts are at work."""
    return int(installation.select("SELECT count(*) AS n FROM task_instance WHERE state = 'running'")[0]["n"])


def test_workers_stop_and_die_and_the_broker_dies_and_each_task_runs(installation: CeleryService) -> None:
    """Cases C4, C17 and C18."""
    installation.install(TASKS, seconds=1.0)
    installation.start()
    first = installation.start_worker("-c", "4")
    installation.trigger()
    wait_until(lambda: running(installation), 60)
    first.send_signal(signal.SIGTERM)
    assert first.wait(20) == 0
    second = installation.start_worker("-c", "4")
    wait_until(lambda: running(installation), 60)  # those that were handed back have just begun again
    assert charged(installation) == 0
    second.kill()
    installation.start_worker("-c", "4")
    wait_until(lambda: charged(installation) and running(installation), 60)
    installation.broker.kill()
    installation.broker.start()
    installation.wait_for_end(120)
    installation.assert_ended_right(TASKS, kills=1)
    assert 0 < charged(installation) <= 4


def test_the_broker_is_asked_and_refuses_in_words(home: Path) -> None:
    server = RabbitServer(home)
    server.start()
    try:
        broker = Broker(Settings(home=home, broker_url=server.url))
        workload = make_workload("")
        assert broker.lengths({workload["queue"], "unheard-of"}) == {workload["queue"]: 0, "unheard-of": 0}
        assert list(broker.publish([(workload, "a token")])) == [workload]
        assert broker.lengths({workload["queue"], "unheard-of"}) == {workload["queue"]: 1, "unheard-of": 0}
        assert broker.queues_with_workers() == set()
        broker.close()
        stranger = Broker(Settings(home=home, broker_url=server.url.replace("guest:guest", "guest:wrong-one")))
        with pytest.raises(BrokerError, match="ACCESS_REFUSED") as refusal:
            stranger.lengths({"default"})
        assert "wrong-one" not in str(refusal.value)
    finally:
        server.close()
