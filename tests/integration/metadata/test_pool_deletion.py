"""A pool that a DAG names is not deleted under its runs, queued ones included, which have no task instances yet."""

from __future__ import annotations

import pytest
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import ConflictError
from treadle_metadata.resources import create_pool, delete_pool
from treadle_metadata.settings import Settings


def test_a_pool_that_a_dag_names_stays(database: Database, settings: Settings, clock: ManualClock) -> None:
    scheduler = TestScheduler(database, settings, clock)
    with database.begin() as connection:
        create_pool(connection, "late", 1)
        create_pool(connection, "free", 1)
    scheduler.install(a_dag("d", TaskDocument("a"), TaskDocument("b", pool="late")))
    with database.begin() as connection:
        with pytest.raises(ConflictError, match="pool 'late' is named by a task of DAG 'd'"):
            delete_pool(connection, "late")
        delete_pool(connection, "free")
    scheduler.set_dag("d", is_active=False)
    with database.begin() as connection:
        delete_pool(connection, "late")
