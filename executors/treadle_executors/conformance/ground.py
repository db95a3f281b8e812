"""What the tests of an executor stand on: how it is made, the server in memory that it reports to, and waiting."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from treadle_executors.conformance.workloads import DAG_FILE
from treadle_executors.executor import Executor, ExecutorEvent
from treadle_executors.memory_execution import MemoryExecution
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload


class ExecutorTests:
    """What all tests of an executor need. ``slots`` of the executor under test is 2."""

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

    def wait_for(self, condition: Callable[[], bool], seconds: float = 20.0) -> None:
        """Wait until ``condition`` holds."""
        done, end = threading.Event(), time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"not reached within {seconds:g} s"
            done.wait(0.005)

    def wait_until_running(self, settings: Settings, count: int) -> None:
        """Wait until ``count`` tasks have said, by a file each, that their code runs."""
        self.wait_for(lambda: len(list(settings.home.glob("running-*"))) >= count)
