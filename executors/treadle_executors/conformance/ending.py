"""How attempts are ended by order, and what an executor that is stopped does with what it holds."""

from __future__ import annotations

from uuid import UUID, uuid4

from treadle_executors.conformance.ground import ExecutorTests
from treadle_executors.conformance.workloads import make_workload
from treadle_executors.executor import Executor
from treadle_executors.memory_execution import MemoryExecution
from treadle_metadata.settings import Settings


class Ending(ExecutorTests):
    """How attempts are ended by order, and what an executor that is stopped does with what it holds."""

    def test_terminate_ends_a_running_attempt(
        self, executor: Executor, execution: MemoryExecution, settings: Settings
    ) -> None:
        workload = make_workload("waiting")
        executor.queue([workload])
        self.wait_until_running(settings, 1)
        executor.terminate(UUID(workload["attempt_id"]), "a person marked it failed")
        finish = execution.wait_for_finish(workload["attempt_id"])
        assert finish["outcome"] == "failed"
        assert finish["error"] is not None
        assert finish["error"]["kind"] == "terminated"

    def test_terminate_of_an_unknown_attempt_does_nothing(self, executor: Executor, execution: MemoryExecution) -> None:
        executor.terminate(uuid4(), "nobody knows it")
        workload = make_workload("quick")
        executor.queue([workload])
        assert execution.wait_for_finish(workload["attempt_id"])["outcome"] == "success"

    def test_an_attempt_that_the_server_disowns_is_ended(
        self, executor: Executor, execution: MemoryExecution, settings: Settings
    ) -> None:
        workload = make_workload("waiting")
        executor.queue([workload])
        self.wait_until_running(settings, 1)
        execution.disowned.add(workload["attempt_id"])
        finish = execution.wait_for_finish(workload["attempt_id"])
        assert finish["error"] is not None
        assert finish["error"]["kind"] == "terminated"

    def test_ending_with_work_in_flight_hands_it_back_and_starts_nothing_more(
        self, settings: Settings, execution: MemoryExecution
    ) -> None:
        executor = self.make_executor(settings, execution)
        executor.start(lambda: None)
        workloads = [make_workload("waiting") for _ in range(3)]
        executor.queue(workloads)
        self.wait_until_running(settings, executor.slots)
        begun = {one["attempt_id"] for one in execution.starts}
        everything = {one["attempt_id"] for one in workloads}
        waiting = {UUID(one) for one in everything - begun}
        if self.workers_outlive:
            self.wait_for(lambda: executor.adopt(UUID(one) for one in everything) == waiting)
        executor.end()
        events = executor.events()
        assert {one["attempt_id"] for one in execution.starts} == begun
        assert {one.kind for one in events} <= {"handed_back"}
        if self.workers_outlive:
            assert {one.attempt_id for one in events} == waiting
            (settings.home / "release").touch()
            assert {execution.wait_for_finish(one)["outcome"] for one in begun} == {"success"}
        else:
            assert {one["outcome"] for one in execution.finishes.values()} <= {"handed_back"}
            over = [*execution.finishes, *(str(one.attempt_id) for one in events)]
            assert sorted(over) == sorted(everything)

    def test_an_executor_that_was_never_used_ends(self, settings: Settings, execution: MemoryExecution) -> None:
        executor = self.make_executor(settings, execution)
        executor.start(lambda: None)
        executor.end()
        assert executor.events() == []
