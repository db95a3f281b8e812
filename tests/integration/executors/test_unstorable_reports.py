"""A report that PostgreSQL can never store is refused as such: nobody waits for the database to take it one day."""

from __future__ import annotations

import random

import pytest
from sqlalchemy.exc import OperationalError
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_executors.batches import Batch
from treadle_executors.execution_api import DatabaseExecution
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload


def test_an_xcom_key_that_no_index_can_hold_is_no_outage(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler, held = TestScheduler(database, settings, clock), list[Workload]()
    scheduler.executor.queue = held.extend  # type: ignore[method-assign, assignment]
    scheduler.install(a_dag("d", TaskDocument("t")))
    scheduler.trigger("d")
    scheduler.beats()
    key = "".join(map(chr, random.Random(1).choices(range(0x4E00, 0x9FFF), k=5000)))
    report = {
        "attempt_id": held[0]["attempt_id"],
        "task_instance_id": held[0]["task_instance_id"],
        "month": held[0]["month"],
        "outcome": "success",
        "ended_at": clock.now().isoformat(),
        "xcoms": [{"key": key, "value": "1", "length": None}],
    }
    execution = DatabaseExecution(database, settings, clock)
    with pytest.raises(OperationalError, match="index row"):
        execution.record(Batch(finishes=[report]))  # type: ignore[list-item]
