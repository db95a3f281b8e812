"""The daemons' leases."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.support import wait_until

from treadle_metadata import processes
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings

LEASE = 30.0


def test_a_daemon_is_alive_until_its_lease_ends(database: Database, clock: ManualClock) -> None:
    with database.begin() as connection:
        processes.register(connection, "scheduler", clock.now(), LEASE)
        clock.advance(timedelta(seconds=29))
        found = processes.alive(connection, clock.now())
        assert [(one.kind, one.pid) for one in found] == [("scheduler", os.getpid())]
        clock.advance(timedelta(seconds=1))
        assert processes.alive(connection, clock.now()) == []
        assert not processes.newest(connection)[0].is_alive(clock.now())


def test_a_heartbeat_renews_the_lease(database: Database, clock: ManualClock) -> None:
    with database.begin() as connection:
        one = processes.register(connection, "scheduler", clock.now(), LEASE)
        clock.advance(timedelta(seconds=20))
        assert processes.heartbeat(connection, one, clock.now(), LEASE)
        clock.advance(timedelta(seconds=20))
        assert [found.id for found in processes.alive(connection, clock.now())] == [one]


def test_a_lost_daemon_is_expired_once_and_learns_of_it(database: Database, clock: ManualClock) -> None:
    with database.begin() as connection:
        one = processes.register(connection, "scheduler", clock.now(), LEASE)
        other = processes.register(connection, "webserver", clock.now() + timedelta(seconds=5), LEASE)
        clock.advance(timedelta(seconds=31))
        assert [found.id for found in processes.expire(connection, clock.now())] == [one]
        assert processes.expire(connection, clock.now()) == []
        assert not processes.heartbeat(connection, one, clock.now(), LEASE)
        assert processes.heartbeat(connection, other, clock.now(), LEASE)


def test_a_daemon_that_stopped_in_order_is_not_alive_and_is_forgotten_later(
    database: Database, clock: ManualClock
) -> None:
    with database.begin() as connection:
        one = processes.register(connection, "scheduler", clock.now(), LEASE)
        processes.stop(connection, one, clock.now())
        assert processes.alive(connection, clock.now()) == []
        assert processes.expire(connection, clock.now() + timedelta(hours=1)) == []
        assert processes.forget(connection, clock.now()) == 0
        assert processes.forget(connection, clock.now() + timedelta(seconds=1)) == 1


def test_the_newest_of_each_kind_is_shown(database: Database, clock: ManualClock) -> None:
    with database.begin() as connection:
        processes.register(connection, "scheduler", clock.now(), LEASE)
        clock.advance(timedelta(seconds=1))
        newer = processes.register(connection, "scheduler", clock.now(), LEASE)
        web = processes.register(connection, "webserver", clock.now(), LEASE)
        assert [found.id for found in processes.newest(connection)] == [newer, web]


def test_a_lease_is_renewed_by_its_thread_and_ends_with_its_block(
    database: Database, clock: ManualClock, settings: Settings
) -> None:
    quick = replace(settings, lease_renewal_seconds=0.01)
    started = clock.now()

    def heartbeats_after_start() -> bool:
        with database.begin() as connection:
            return processes.newest(connection)[0].heartbeat_at > started

    with processes.Lease(database, "scheduler", clock, quick):
        clock.advance(timedelta(seconds=10))
        wait_until(heartbeats_after_start)
    with database.begin() as connection:
        assert processes.alive(connection, clock.now()) == []


def test_a_daemon_whose_lease_was_taken_for_lost_registers_anew(
    database: Database, clock: ManualClock, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with processes.Lease(database, "scheduler", clock, settings) as lease:
        lost = lease.process_id
        clock.advance(timedelta(seconds=31))
        with database.begin() as connection:
            processes.expire(connection, clock.now())
        lease.renew()
        assert lease.process_id != lost
        with database.begin() as connection:
            assert [one.id for one in processes.alive(connection, clock.now())] == [lease.process_id]
    assert "registered anew" in caplog.text


def test_a_lease_tells_at_each_renewal_what_its_executors_say(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    said: dict[str, list[dict[str, str | None]]] = {"celery": []}
    with processes.Lease(database, "scheduler", clock, settings, lambda: said) as lease:
        said["celery"] = [{"sentence": "the broker is away", "queue": None}]
        lease.renew()
        with database.begin() as connection:
            (one,) = processes.alive(connection, clock.now())
    assert one.executors == said
