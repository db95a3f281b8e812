"""What a dead worker's successor gives up: what began there and what never began, and nothing that runs elsewhere."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import UUID

from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.left_attempts import lose_left
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute


def test_of_what_a_dead_worker_held_only_what_runs_elsewhere_goes_on(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler = TestScheduler(database, settings, clock)
    taken: list[Any] = []
    scheduler.executor.queue = taken.extend  # type: ignore[method-assign, assignment]
    scheduler.install(a_dag("d", *(TaskDocument(name, retries=1) for name in ("began", "elsewhere", "queued"))))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    of = {one["task_id"]: one for one in taken}
    held = [
        (UUID(one["attempt_id"]), one["task_instance_id"], date.fromisoformat(str(one["month"]))) for one in of.values()
    ]
    with database.begin() as connection:
        execute(connection, "UPDATE task_instance SET state = 'running' WHERE task_id <> 'queued'")
        began = {UUID(of["began"]["attempt_id"])}
        assert lose_left(connection, held, "it was killed", began=began, now=clock.now()) == 2
        assert lose_left(connection, held, "it was killed", began=began, now=clock.now()) == 0
    states = {"began": "up_for_retry", "elsewhere": "running", "queued": "scheduled"}
    assert scheduler.task_states(run_id) == states
