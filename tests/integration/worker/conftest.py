"""A local executor with real processes, on an Execution API in memory."""

from __future__ import annotations

import json
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.support.processes import processes_with
from tests.support.waiting import wait_until

from treadle_executors.conformance import make_workload
from treadle_executors.executor import ExecutorEvent
from treadle_executors.local import LocalExecutor
from treadle_executors.memory_execution import MemoryExecution
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_worker.protocol import FinishReport, Workload

HEAD = """
import os, pathlib, signal, subprocess, sys, time
from datetime import timedelta
from treadle import DAG, task
HOME = {home!r}
LEFT = ["tail", "-f", HOME + "/dags/one.py"]
"""


class Rig:
    """An executor under test, and the few things that tests do with it."""

    def __init__(self, home: Path, **settings: Any) -> None:
        self.home = home
        self.execution = MemoryExecution()
        self.woken = threading.Semaphore(0)
        given = {"parallelism": 8, "terminate_grace_seconds": 0.5, "lease_renewal_seconds": 0.2} | settings
        self.executor = LocalExecutor(cast("Database", None), Settings(home=home, **given), self.execution)
        (home / "dags").mkdir(exist_ok=True)
        self._files: dict[str, int] = {}

    def dag(self, code: str, file: str = "one.py") -> None:
        """Write a DAG file whose DAG is ``one``; ``code`` is the body of its ``with`` block."""
        body = textwrap.indent(textwrap.dedent(code), "    ")
        head = HEAD.format(home=str(self.home))
        self.file(head + f'with DAG("one"):\n{body}\n', file)

    def file(self, text: str, file: str = "one.py") -> None:
        """Write a file into the dags folder; each version has a hash of its own."""
        (self.home / "dags" / file).write_text(text)
        self._files[file] = self._files.get(file, 0) + 1

    def workload(self, task_id: str, **changes: Any) -> Workload:
        """Return a workload of the DAG ``one``."""
        file = changes.get("file", "one.py")
        facts = {"dag_id": "one", "file": file, "file_hash": f"version {self._files.get(file, 0)}"}
        return make_workload(task_id, **(facts | changes))

    def queue(self, task_id: str, **changes: Any) -> Workload:
        """Hand over one attempt."""
        workload = self.workload(task_id, **changes)
        self.executor.queue([workload])
        return workload

    def run(self, task_id: str, **changes: Any) -> FinishReport:
        """Run one attempt to its end."""
        return self.end_of(self.queue(task_id, **changes))

    def end_of(self, workload: Workload) -> FinishReport:
        """Wait for the end of an attempt."""
        return self.execution.wait_for_finish(workload["attempt_id"])

    def event(self) -> ExecutorEvent:
        """Wait for an event of the executor."""
        return wait_until(self.executor.events, 20)[0]

    def left_behind(self) -> bool:
        """Tell whether a process that a task started with ``LEFT`` still lives."""
        return bool(processes_with(f"tail -f {self.home}"))

    def log(self, workload: Workload) -> list[dict[str, Any]]:
        """Return the lines of an attempt's log."""
        path = self.home / "logs" / workload["log_path"]
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def make_rig(tmp_path: Path) -> Iterator[Callable[..., Rig]]:
    """Make and start an executor with the given settings; it is ended after the test."""
    made: list[Rig] = []

    def make(**settings: Any) -> Rig:
        rig = Rig(tmp_path, **settings)
        made.append(rig)
        rig.executor.start(rig.woken.release)
        return rig

    yield make
    for rig in made:
        rig.executor.end()


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    """An executor with the settings of most tests."""
    return make_rig()
