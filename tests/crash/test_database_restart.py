"""PostgreSQL restarts in the middle of a 200-task run: daemons wait for it, and the run ends right."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.service import service
from tests.support.waiting import wait_until

from treadle_metadata import migration
from treadle_metadata.connection import Database
from treadle_metadata.embedded_postgres import EmbeddedPostgres

TASKS = 200


@pytest.fixture
def server() -> Iterator[EmbeddedPostgres]:
    """A PostgreSQL of the test's own, durable as in production."""
    with tempfile.TemporaryDirectory(prefix="treadle-tests-") as folder, EmbeddedPostgres(Path(folder), "x") as one:
        yield one


def test_a_restart_of_the_database_loses_nothing(server: EmbeddedPostgres, home: Path) -> None:
    database = Database(server.url())
    migration.migrate(database.url, datetime.now(UTC))
    with service(home, database, TREADLE_LEASE_SECONDS="20") as one:
        one.install(TASKS, seconds=0.02)
        one.start()
        one.trigger()
        wait_until(lambda: one.finished() >= 20, 30)
        database.close()
        server.stop()
        server.start()
        one.wait_for_end()
        one.assert_ended_right(TASKS, kills=0)
        assert one.executions() == dict.fromkeys(range(TASKS), 1)
        assert one.process is not None
        assert one.process.poll() is None
    database.close()
