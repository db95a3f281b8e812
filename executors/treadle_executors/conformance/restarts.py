"""What is adopted, and what becomes of attempts of an executor that was restarted."""

from __future__ import annotations

from uuid import UUID, uuid4

from treadle_executors.conformance.ground import ExecutorTests
from treadle_executors.conformance.workloads import make_workload
from treadle_executors.executor import Executor
from treadle_executors.memory_execution import MemoryExecution
from treadle_metadata.settings import Settings


class Restarts(ExecutorTests):
    """What is adopted, and what becomes of attempts of an executor that was restarted."""

    def test_it_adopts_what_it_holds_and_nothing_else(
        self, executor: Executor, execution: MemoryExecution, settings: Settings
    ) -> None:
        workloads = [make_workload("waiting") for _ in range(3)]
        executor.queue(workloads)
        self.wait_until_running(settings, 2)
        begun = {one["attempt_id"] for one in execution.starts}
        ids = {UUID(one["attempt_id"]) for one in workloads}
        held = {one for one in ids if str(one) not in begun} if self.workers_outlive else ids
        self.wait_for(lambda: executor.adopt([*ids, uuid4()]) == held)

    def test_what_runs_is_another_executors_to_end_after_a_restart(
        self, settings: Settings, execution: MemoryExecution
    ) -> None:
        first = self.make_executor(settings, execution)
        first.start(lambda: None)
        workload = make_workload("waiting")
        first.queue([workload])
        self.wait_until_running(settings, 1)
        first.end()
        second = self.make_executor(settings, execution)
        second.start(lambda: None)
        try:
            second.terminate(UUID(workload["attempt_id"]), "a person marked it failed")
            # Where workers end with their executor it was handed back before, and the order finds nothing.
            outcome = execution.wait_for_finish(workload["attempt_id"])["outcome"]
            assert outcome == ("failed" if self.workers_outlive else "handed_back")
        finally:
            second.end()
