"""How attempts start and run: results, order, slots, callbacks, each once however often it is handed over."""

from __future__ import annotations

import threading

import pytest

from treadle_executors.conformance.ground import ExecutorTests
from treadle_executors.conformance.workloads import DAG_FILE, make_workload
from treadle_executors.executor import Executor
from treadle_executors.memory_execution import MemoryExecution
from treadle_metadata.settings import Settings
from treadle_worker.protocol import CallbackFacts


class Running(ExecutorTests):
    """How attempts start and run: results, order, slots, callbacks, each once however often it is handed over."""

    def test_an_attempt_runs_and_its_result_is_recorded(
        self, executor: Executor, execution: MemoryExecution, woken: threading.Semaphore
    ) -> None:
        workload = make_workload("quick")
        executor.queue([workload])
        finish = execution.wait_for_finish(workload["attempt_id"])
        assert (finish["outcome"], finish["error"]) == ("success", None)
        assert [(one["key"], one["value"]) for one in finish["xcoms"]] == [("return_value", "42")]
        # Where the worker's report goes past the executor, the server that takes it wakes the scheduler.
        assert self.workers_outlive or woken.acquire(timeout=20)

    def test_a_failure_is_reported_with_its_error(self, executor: Executor, execution: MemoryExecution) -> None:
        workload = make_workload("failing")
        executor.queue([workload])
        finish = execution.wait_for_finish(workload["attempt_id"])
        assert finish["outcome"] == "failed"
        assert finish["error"] is not None
        assert (finish["error"]["type"], finish["error"]["message"]) == ("ValueError", "on purpose")

    def test_attempts_start_in_the_order_in_which_they_were_handed_over(
        self, executor: Executor, execution: MemoryExecution
    ) -> None:
        workloads = [make_workload("quick") for _ in range(6)]
        executor.queue(workloads[:4])
        executor.queue(workloads[4:])
        for workload in workloads:
            execution.wait_for_finish(workload["attempt_id"])
        places = {one["attempt_id"]: place for place, one in enumerate(execution.starts)}
        assert all(abs(places[one["attempt_id"]] - place) <= self.disorder for place, one in enumerate(workloads))

    def test_an_attempt_whose_start_is_refused_runs_no_code(
        self, executor: Executor, execution: MemoryExecution, settings: Settings
    ) -> None:
        refused, after = make_workload("waiting"), make_workload("quick")
        execution.refused.add(refused["attempt_id"])
        executor.queue([refused])
        execution.wait_for_start(refused["attempt_id"])
        executor.queue([after])
        execution.wait_for_finish(after["attempt_id"])
        assert refused["attempt_id"] not in execution.finishes
        assert not list(settings.home.glob("running-*"))

    def test_a_callback_runs_although_tasks_hold_all_slots(
        self, executor: Executor, execution: MemoryExecution, settings: Settings
    ) -> None:
        executor.queue([make_workload("waiting"), make_workload("waiting")])
        self.wait_until_running(settings, 2)
        facts = {"state": "success", "reason": "told", "ended_at": None}
        told = CallbackFacts(id=1, event="run_success", position=None, facts=facts, limit=30.0)
        workload = make_workload("", callback=told)
        self.make_room_for_callbacks()
        executor.queue([workload])
        finish = execution.wait_for_finish(workload["attempt_id"])
        assert (finish["outcome"], finish["error"], finish["subject"]) == ("success", None, "callback")
        assert (settings.home / "told").exists()
        (settings.home / "release").touch()

    def test_queueing_an_attempt_twice_runs_it_once(self, executor: Executor, execution: MemoryExecution) -> None:
        workload, after = make_workload("quick"), make_workload("quick")
        executor.queue([workload, workload])
        executor.queue([workload, after])
        execution.wait_for_finish(after["attempt_id"])
        execution.wait_for_finish(workload["attempt_id"])
        assert len(execution.starts) == 2

    def test_no_more_than_its_slots_run_at_once_and_the_rest_follows(
        self, executor: Executor, execution: MemoryExecution, settings: Settings
    ) -> None:
        workloads = [make_workload("waiting") for _ in range(5)]
        executor.queue(workloads)
        self.wait_until_running(settings, executor.slots)
        assert len(execution.starts) == executor.slots
        (settings.home / "release").touch()
        for workload in workloads:
            assert execution.wait_for_finish(workload["attempt_id"])["outcome"] == "success"

    def test_an_attempt_that_is_delivered_twice_runs_once(
        self, executor: Executor, execution: MemoryExecution, settings: Settings
    ) -> None:
        workload, after = make_workload("waiting"), make_workload("quick")
        executor.queue([workload])
        self.wait_until_running(settings, 1)
        self.deliver_again(executor, workload)
        executor.queue([after])
        execution.wait_for_finish(after["attempt_id"])
        (settings.home / "release").touch()
        assert execution.wait_for_finish(workload["attempt_id"])["outcome"] == "success"
        assert len(list(settings.home.glob("running-*"))) == 1

    def test_a_file_that_is_slow_to_import_starts_once(
        self, executor: Executor, execution: MemoryExecution, settings: Settings
    ) -> None:
        # Several renewals long.
        (settings.path("dags_folder") / "slow.py").write_text("import time\ntime.sleep(1)\n" + DAG_FILE)
        workload = make_workload("quick", file="slow.py", file_hash="two")
        executor.queue([workload])
        assert execution.wait_for_finish(workload["attempt_id"])["outcome"] == "success"
        assert len(execution.starts) == 1

    @pytest.mark.parametrize(("field", "value"), [("log_path", "../../etc/passwd"), ("month", "soon")])
    def test_an_unusable_workload_is_rejected_with_its_reason(
        self, executor: Executor, execution: MemoryExecution, woken: threading.Semaphore, field: str, value: str
    ) -> None:
        workload, after = make_workload("quick", **{field: value}), make_workload("quick")
        executor.queue([workload, after])
        event = self.event(executor, woken)
        assert (event.kind, str(event.attempt_id)) == ("rejected", workload["attempt_id"])
        assert field in event.reason
        assert execution.wait_for_finish(after["attempt_id"])["outcome"] == "success"
