"""Dead workers, answers that get lost, and a server that is away: no outcome is lost or changed."""

from __future__ import annotations

import threading

from treadle_executors.conformance.ground import ExecutorTests
from treadle_executors.conformance.workloads import make_workload
from treadle_executors.executor import Executor
from treadle_executors.memory_execution import MemoryExecution
from treadle_metadata.settings import Settings


class Faults(ExecutorTests):
    """Dead workers, answers that get lost, and a server that is away: no outcome is lost or changed."""

    def test_a_dead_worker_loses_its_attempts_and_the_executor_goes_on(
        self, executor: Executor, execution: MemoryExecution, settings: Settings, woken: threading.Semaphore
    ) -> None:
        workload = make_workload("waiting")
        executor.queue([workload])
        self.wait_until_running(settings, 1)
        self.kill_workers(executor)
        if not self.workers_outlive:
            event = self.event(executor, woken)
            assert (event.kind, str(event.attempt_id)) == ("lost", workload["attempt_id"])
            assert event.reason
        after = make_workload("quick")
        executor.queue([after])
        assert execution.wait_for_finish(after["attempt_id"])["outcome"] == "success"
        # Workers of their own are known to be dead by nothing but the leases of what they ran.
        assert workload["attempt_id"] not in execution.finishes
        assert executor.events() == []

    def test_an_answer_that_gets_lost_changes_no_outcome(self, executor: Executor, execution: MemoryExecution) -> None:
        execution.lost_answers = 2
        workload = make_workload("quick")
        executor.queue([workload])
        assert execution.wait_for_finish(workload["attempt_id"])["outcome"] == "success"
        assert len(execution.starts) == 1

    def test_a_server_that_is_away_as_an_attempt_ends_learns_of_it_later(
        self, executor: Executor, execution: MemoryExecution, settings: Settings
    ) -> None:
        workload = make_workload("waiting")
        executor.queue([workload])
        self.wait_until_running(settings, 1)
        execution.unreachable = True
        (settings.home / "release").touch()
        assert execution.asked_in_vain.wait(20)
        execution.unreachable = False
        assert execution.wait_for_finish(workload["attempt_id"])["outcome"] == "success"
