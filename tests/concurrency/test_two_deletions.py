"""Two people delete the same run at the same moment: the second is told that there is no such run."""

from __future__ import annotations

import re
import threading

import pytest
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.waiting import wait_until

from treadle.document import TaskDocument
from treadle_metadata import deletion
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import NotFoundError
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows


def test_a_run_that_is_deleted_while_another_deletes_it_is_not_found(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler = TestScheduler(database, settings, clock)
    scheduler.install(a_dag("d", TaskDocument("a")))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.run_states("d") == {run_id: "success"}
    errors: list[Exception] = []

    def delete() -> None:
        try:
            database.run(lambda connection: deletion.delete_run(connection, "d", run_id, now=clock.now()))
        except Exception as error:
            errors.append(error)

    second = threading.Thread(target=delete)
    with database.begin() as connection:
        deletion.delete_run(connection, "d", run_id, now=clock.now())
        second.start()
        wait_until(lambda: errors or _waits(database), 10)
        assert errors == []
    second.join(10)
    with pytest.raises(NotFoundError, match=re.escape(run_id)):
        raise errors[0]


def _waits(database: Database) -> bool:
    with database.begin() as connection:
        return bool(rows(connection, "SELECT FROM pg_locks WHERE NOT granted"))
