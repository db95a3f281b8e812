"""What a scheduler remembers of runs is not trusted where it may be wrong."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute
from treadle_scheduler.faults import DatabaseOutage
from treadle_worker.protocol import Workload


def test_after_an_outage_all_is_read_again(
    database: Database, settings: Settings, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database comes back as a replica that lacks the last commit, in which ``b`` was scheduled and queued."""
    scheduler, held = TestScheduler(database, settings, clock), list[Workload]()
    plain, scheduler.executor.queue = scheduler.executor.queue, held.extend  # type: ignore[method-assign, assignment]
    scheduler.install(a_dag("d", TaskDocument("a"), TaskDocument("b", upstream=("a",))))
    run = scheduler.trigger("d")
    scheduler.beats()
    plain(held)
    scheduler.beats()
    assert [one["task_id"] for one in held] == ["a", "b"]

    def no_answer(_: Any) -> Any:
        raise OperationalError("SELECT", {}, Exception("the server closed the connection"))

    scheduler.loop.wake()
    with monkeypatch.context() as away:
        away.setattr(database, "run", no_answer)
        with pytest.raises(DatabaseOutage):
            scheduler.loop.beat()
    with database.begin() as connection:
        execute(connection, "DELETE FROM task_attempt WHERE outcome IS NULL")
        execute(
            connection,
            "UPDATE task_instance SET state = 'none', attempt_id = NULL, lease_until = NULL, try_number = 0"
            " WHERE task_id = 'b'",
        )
        execute(
            connection,
            "INSERT INTO run_wakeup (dag_run_id, due_at, changed) SELECT id, %(now)s, '{}' FROM dag_run",
            {"now": clock.now()},
        )
    scheduler.beats()
    assert scheduler.task_states(run) == {"a": "success", "b": "queued"}
