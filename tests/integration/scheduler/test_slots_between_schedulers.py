"""What the end of one scheduler's attempt leaves room for is queued at once, whichever scheduler made it ready."""

from __future__ import annotations

from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload


def test_what_another_scheduler_made_ready_is_queued_when_an_attempt_ends_here(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    here, there = (TestScheduler(database, settings, clock) for _ in range(2))
    held = list[Workload]()
    here.install(a_dag("d", TaskDocument("t", max_active_tis_per_dag=1)))
    plain, here.executor.queue = here.executor.queue, held.extend  # type: ignore[method-assign, assignment]
    here.trigger("d")
    here.beats()
    second = there.trigger("d")
    there.beats()
    assert there.task_states(second) == {"t": "scheduled"}
    here.executor.queue = plain  # type: ignore[method-assign]
    plain(held)
    here.loop.beat()
    assert here.task_states(second) == {"t": "success"}
