"""The tests that every executor passes. A third party's executor inherits :class:`ExecutorConformance`.

A subclass makes its executor on an Execution API in memory and says how to kill its workers; pytest then runs the
tests below against it, with real processes. They wait for reports, never for durations. Where executors whose workers
live on without them must differ, ``workers_outlive`` says so, and each such test says how.
"""

from __future__ import annotations

import itertools
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from treadle_executors.executor import Executor, ExecutorEvent
from treadle_executors.memory_execution import MemoryExecution
from treadle_metadata.settings import Settings
from treadle_worker.protocol import CallbackFacts, Workload

DAG_FILE = """
import os, pathlib, time
from treadle import DAG, task

FOLDER = pathlib.Path(__file__).parent.parent

with DAG("conformance", on_success_callback=lambda context: (FOLDER / context["reason"]).touch()):
    @task
    def quick():
        return 42

    @task
    def waiting():
        (FOLDER / f"running-{os.getpid()}").touch()
        while not (FOLDER / "release").exists():
            time.sleep(0.01)

    @task
    def failing():
        raise ValueError("on purpose")

    quick(), waiting(), failing()
"""

_instances = itertools.count(1)


def make_workload(task_id: str, **changes: Any) -> Workload:
    """Return a workload of the DAG that the tests use."""
    attempt_id = str(uuid4())
    workload = Workload(
        attempt_id=attempt_id,
        task_instance_id=next(_instances),
        month="2026-01-01",
        dag_id="conformance",
        task_id=task_id,
        map_index=-1,
        try_number=1,
        max_tries=0,
        file="conformance.py",
        file_hash="one",
        version="one",
        queue="default",
        pool="default_pool",
        isolation="process",
        execution_timeout_seconds=None,
        executor_config={},
        log_path=f"conformance/run/{task_id}/{attempt_id}/attempt=1.jsonl",
        run={
            "run_id": "run",
            "run_type": "manual",
            "logical_date": "2026-01-01T00:00:00+00:00",
            "data_interval_start": None,
            "data_interval_end": None,
            "run_after": "2026-01-01T00:00:00+00:00",
            "start_date": None,
            "conf": {},
            "triggered_by": "test",
            "clear_number": 0,
        },
    )
    workload.update(changes)  # type: ignore[typeddict-item]
    return workload


class ExecutorConformance:
    """What an executor must do. ``slots`` of the executor under test is 2."""

    workers_outlive: bool = False
    """Whether workers go on when the executor ends, so that it holds what waits and nothing that runs."""

    disorder: int = 0
    """By how many places attempts may start out of order: two workers that take two messages at once may swap them."""

    @abstractmethod
    def make_executor(self, settings: Settings, execution: MemoryExecution) -> Executor:
        """Return a new executor, not started, that reports to ``execution``."""

    @abstractmethod
    def kill_workers(self, executor: Executor) -> None:
        """Kill whatever runs attempts for ``executor``, as a crash would."""

    def make_room_for_callbacks(self) -> None:
        """Called when tasks hold all slots: an executor whose callbacks wait for a worker starts another here."""

    def deliver_again(self, executor: Executor, workload: Workload) -> None:
        """Have an attempt that was handed over come to a worker once more."""
        executor.queue([workload])

    @pytest.fixture
    def execution(self) -> MemoryExecution:
        """The server that the executor reports to."""
        return MemoryExecution()

    @pytest.fixture
    def settings(self, tmp_path: Path) -> Settings:
        """Settings with a dags folder that holds the tests' DAG."""
        (tmp_path / "dags").mkdir()
        (tmp_path / "dags" / "conformance.py").write_text(DAG_FILE)
        return Settings(home=tmp_path, parallelism=2, terminate_grace_seconds=1.0, lease_renewal_seconds=0.2)

    @pytest.fixture
    def woken(self) -> threading.Semaphore:
        """Counts calls of ``on_event``."""
        return threading.Semaphore(0)

    @pytest.fixture
    def executor(
        self, settings: Settings, execution: MemoryExecution, woken: threading.Semaphore
    ) -> Iterator[Executor]:
        """The executor, started; ended after the test."""
        executor = self.make_executor(settings, execution)
        executor.start(woken.release)
        yield executor
        executor.end()

    def event(self, executor: Executor, woken: threading.Semaphore) -> ExecutorEvent:
        """Wait for an event of the executor and return it."""
        while True:
            found = executor.events()
            if found:
                return found[0]
            assert woken.acquire(timeout=20), "the executor reported no event within 20 s"

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

    def test_terminate_of_an_unknown_attempt_does_nothing(self, executor: Executor, execution: MemoryExecution) -> None:
        executor.terminate(uuid4(), "nobody knows it")
        workload = make_workload("quick")
        executor.queue([workload])
        assert execution.wait_for_finish(workload["attempt_id"])["outcome"] == "success"

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

    def test_an_unusable_workload_is_rejected_with_its_reason(
        self, executor: Executor, execution: MemoryExecution, woken: threading.Semaphore
    ) -> None:
        workload, after = make_workload("quick", log_path="../../etc/passwd"), make_workload("quick")
        executor.queue([workload, after])
        event = self.event(executor, woken)
        assert (event.kind, str(event.attempt_id)) == ("rejected", workload["attempt_id"])
        assert "log_path" in event.reason
        assert execution.wait_for_finish(after["attempt_id"])["outcome"] == "success"

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

    def test_a_file_that_is_slow_to_import_starts_once(
        self, executor: Executor, execution: MemoryExecution, settings: Settings
    ) -> None:
        # Several renewals long.
        (settings.path("dags_folder") / "slow.py").write_text("import time\ntime.sleep(1)\n" + DAG_FILE)
        workload = make_workload("quick", file="slow.py", file_hash="two")
        executor.queue([workload])
        assert execution.wait_for_finish(workload["attempt_id"])["outcome"] == "success"
        assert len(execution.starts) == 1

    def test_an_executor_that_was_never_used_ends(self, settings: Settings, execution: MemoryExecution) -> None:
        executor = self.make_executor(settings, execution)
        executor.start(lambda: None)
        executor.end()
        assert executor.events() == []

    def wait_for(self, condition: Callable[[], bool], seconds: float = 20.0) -> None:
        """Wait until ``condition`` holds."""
        done, end = threading.Event(), time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"not reached within {seconds:g} s"
            done.wait(0.005)

    def wait_until_running(self, settings: Settings, count: int) -> None:
        """Wait until ``count`` tasks have said, by a file each, that their code runs."""
        self.wait_for(lambda: len(list(settings.home.glob("running-*"))) >= count)
