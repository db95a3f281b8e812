"""An executor whose attempts stay under way: what tests of limits and of waiting need."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from bench.instant import InstantExecutor
from sqlalchemy import Connection
from tests.support.scheduling import TestScheduler

from treadle_metadata import execution
from treadle_worker.protocol import Workload


class HoldingExecutor(InstantExecutor):
    """Starts the attempts of tasks ``held`` and never ends them; takes those of ``unstarted`` and does not start them.

    Attempts of all other tasks end at once.
    """

    held: Collection[str] = ()
    unstarted: Collection[str] = ()

    def _run(self, connection: Connection, batch: list[Workload]) -> None:
        now = self.clock.now()
        starts = [
            {
                "attempt_id": one["attempt_id"],
                "task_instance_id": one["task_instance_id"],
                "month": one["month"],
                "hostname": "worker-1",
                "started_at": now.isoformat(),
            }
            for one in batch
            if one["task_id"] in self.held
        ]
        lease = now + timedelta(seconds=self.settings.lease_seconds)
        execution.record_starts(connection, starts, now=now, lease_until=lease)
        super()._run(connection, [one for one in batch if one["task_id"] not in {*self.held, *self.unstarted}])


def hold(scheduler: TestScheduler, *held: str, unstarted: Collection[str] = ()) -> None:
    """Let the attempts of tasks ``held`` run on, and those of ``unstarted`` stay queued, from now on."""
    executor = HoldingExecutor(
        scheduler.database, scheduler.context.settings, scheduler.executor.outcome, scheduler.clock
    )
    executor.held, executor.unstarted = held, unstarted
    scheduler.context.executors = {"instant": executor}
