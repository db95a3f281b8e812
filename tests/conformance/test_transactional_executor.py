"""The transactional executor against the tests that every executor passes: a real queue, a worker, real children."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

import pytest
from tests.support.kubernetes_homes import MemoryLeases

from treadle_executors.batches import Answers, Batch
from treadle_executors.conformance import ExecutorConformance, make_workload
from treadle_executors.executor import Executor
from treadle_executors.memory_execution import MemoryExecution
from treadle_executors.transactional.executor import TransactionalExecutor
from treadle_executors.transactional.worker import Worker
from treadle_metadata import work
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings


class TestTransactionalExecutor(ExecutorConformance):
    """Attempts below a worker in a thread of the test."""

    workers_outlive = True

    @pytest.fixture(autouse=True)
    def _database(self, database: Database) -> Iterator[None]:
        self.database = database
        self.worker: Worker | None = None
        yield
        self.stop_worker()

    def make_executor(self, settings: Settings, execution: MemoryExecution) -> Executor:
        if self.worker is None:
            # It must be woken: nothing is found by looking now and then.
            seldom = replace(settings, heartbeat_seconds=60)
            self.worker = Worker(self.database, seldom, ["default"], settings.parallelism, execution)
            self.thread = threading.Thread(target=self.worker.run, name="worker")
            self.thread.start()
        return TransactionalExecutor(self.database, settings, leases=MemoryLeases(execution))

    def test_a_second_delivery_keeps_nothing_waiting_that_comes_with_it(
        self, executor: Executor, execution: MemoryExecution, settings: Settings
    ) -> None:
        """One slot is free, and a look at the queue finds no more than the attempt that runs already."""
        workload, after = make_workload("waiting"), make_workload("quick")
        executor.queue([workload])
        self.wait_until_running(settings, 1)
        executor.queue([workload, after])
        execution.wait_for_finish(after["attempt_id"])
        (settings.home / "release").touch()
        assert execution.wait_for_finish(workload["attempt_id"])["outcome"] == "success"

    def stop_worker(self) -> None:
        if self.worker is not None:
            self.worker.stop()
            self.thread.join()

    def kill_workers(self, executor: Executor) -> None:
        assert executor
        assert self.worker is not None
        assert self.worker.host_pid is not None
        os.kill(self.worker.host_pid, signal.SIGKILL)

    def test_a_dead_worker_loses_its_attempts_and_the_executor_goes_on(
        self, executor: Executor, execution: MemoryExecution, settings: Settings, woken: threading.Semaphore
    ) -> None:
        """The worker tells itself of a runner host that died; of a worker that died, the leases tell."""
        assert woken
        workload = make_workload("waiting")
        executor.queue([workload])
        self.wait_until_running(settings, 1)
        self.kill_workers(executor)
        finish = execution.wait_for_finish(workload["attempt_id"])
        assert finish["error"] is not None
        assert (finish["outcome"], finish["error"]["kind"]) == ("failed", "lost")
        after = make_workload("quick")
        executor.queue([after])
        assert execution.wait_for_finish(after["attempt_id"])["outcome"] == "success"

    def test_what_is_over_while_it_waits_is_taken_out_of_the_queue(
        self, executor: Executor, execution: MemoryExecution
    ) -> None:
        workload = make_workload("quick", queue="nobody")
        executor.queue([workload])
        attempt_id = UUID(workload["attempt_id"])
        self.wait_for(lambda: executor.troubles() != [])
        assert "no `treadle worker` runs" in executor.troubles()[0].sentence
        assert executor.adopt([attempt_id]) == {attempt_id}
        with execution.changed:
            execution.finishes[workload["attempt_id"]] = {}  # type: ignore[typeddict-item]
        self.wait_for(lambda: executor.adopt([attempt_id]) == set())
        with self.database.begin() as connection:
            assert work.waiting(connection) == []

    def test_a_slot_is_given_away_when_its_attempt_has_ended_though_that_is_still_being_recorded(
        self,
        executor: Executor,
        execution: MemoryExecution,
        settings: Settings,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        may_record, record = threading.Event(), execution.record

        def held_up(batch: Batch) -> Answers:
            if batch.finishes:
                may_record.wait(20)
            return record(batch)

        monkeypatch.setattr(execution, "record", held_up)
        workloads = [make_workload("quick") for _ in range(settings.parallelism + 1)]
        executor.queue(workloads)

        def is_taken() -> bool:
            with self.database.begin() as connection:
                return work.waiting(connection) == []

        try:
            self.wait_for(is_taken)
            assert execution.finishes == {}
        finally:
            may_record.set()
        for one in workloads:
            assert execution.wait_for_finish(one["attempt_id"])["outcome"] == "success"
