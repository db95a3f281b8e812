"""What a DAG costs the loop has a figure (case B15)."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_scheduler.costs import Costs


def test_the_costliest_dags_are_logged_every_five_minutes(
    database: Database, settings: Settings, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    scheduler = TestScheduler(database, settings, clock)
    scheduler.beats()
    scheduler.install(a_dag("small", TaskDocument("t")))
    scheduler.install(a_dag("large", *(TaskDocument(f"t{n}") for n in range(300)), max_active_tasks=300))
    for dag_id in ("small", "large"):
        scheduler.trigger(dag_id)
    scheduler.beats()
    assert "costliest" not in caplog.text
    clock.advance(timedelta(minutes=5))
    with caplog.at_level(logging.INFO):
        scheduler.beats()
    (line,) = [record.getMessage() for record in caplog.records if "costliest" in record.getMessage()]
    assert line.index("large: ") < line.index("small: ")
    assert "ms each" in line


def test_only_the_worst_are_told_of_and_each_once() -> None:
    costs = Costs()
    for number in range(4):
        for _ in range(number):
            with costs.of(f"d{number}"):
                pass
    assert {cost.dag_id for cost in costs.take(9)} == {"d1", "d2", "d3"}
    assert costs.take(9) == []
