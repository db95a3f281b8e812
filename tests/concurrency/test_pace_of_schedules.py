"""Several schedulers that make up for missed times at once keep to one pace together."""

from __future__ import annotations

import threading
from datetime import timedelta

from tests.support.waiting import wait_until

from treadle_metadata import schedules
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.statements import rows


def test_a_scheduler_that_waits_for_another_gets_what_that_one_left(own_database: Database, clock: ManualClock) -> None:
    """Case A67."""
    found: list[int] = []

    def second() -> None:
        with own_database.begin() as connection:
            found.append(schedules.take_from_pace(connection, 5, most=7, now=clock.now()))

    with own_database.begin() as connection:
        assert schedules.take_from_pace(connection, 5, most=7, now=clock.now()) == 5
        other = threading.Thread(target=second)
        other.start()
        wait_until(lambda: _waits(own_database))
        assert found == []
    other.join()
    assert found == [2]
    with own_database.begin() as connection:
        assert schedules.take_from_pace(connection, 5, most=7, now=clock.now()) == 0
        assert schedules.take_from_pace(connection, 5, most=7, now=clock.now() + timedelta(minutes=1)) == 5


def _waits(database: Database) -> bool:
    with database.begin() as connection:
        return bool(rows(connection, "SELECT FROM pg_locks WHERE NOT granted"))
