"""The local executor against the tests that every executor passes."""

from __future__ import annotations

import os
import signal
from typing import cast

from treadle_executors.conformance import ExecutorConformance
from treadle_executors.executor import Executor
from treadle_executors.local import LocalExecutor
from treadle_executors.memory_execution import MemoryExecution
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings


class TestLocalExecutor(ExecutorConformance):
    """Attempts in real processes, reports to an Execution API in memory."""

    def make_executor(self, settings: Settings, execution: MemoryExecution) -> Executor:
        # The database is not touched: the Execution API is given.
        return LocalExecutor(cast("Database", None), settings, execution)

    def kill_workers(self, executor: Executor) -> None:
        assert isinstance(executor, LocalExecutor)
        os.kill(cast("int", executor.host_pid), signal.SIGKILL)
