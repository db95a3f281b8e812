"""The runner host alone: no-op tasks through the local executor, with an Execution API in memory and no scheduler.

Tells what one attempt costs in CPU, by process: host, template (with the fork), task child, and the executor's threads.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import cast

from bench.report import progress, report
from treadle_executors.conformance import make_workload
from treadle_executors.execution_api import Answers, Batch
from treadle_executors.local import LocalExecutor
from treadle_executors.memory_execution import MemoryExecution
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload
from treadle_worker.system import children_of

_DAG = """
from treadle import DAG, task
with DAG("noop"):
    @task
    def nothing():
        pass
    nothing()
"""


class Feeding(MemoryExecution):
    """Hands over the next attempts as others end, as a scheduler would."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.left = count
        self.ended = 0
        self.made = 0
        self.done = threading.Event()
        self.executor: LocalExecutor | None = None

    def record(self, batch: Batch) -> Answers:
        """Count ends and hand over as many new attempts."""
        answers = super().record(batch)
        self.ended += len(answers.accepted)
        assert self.executor is not None
        self.executor.queue(self.take(len(answers.accepted)))
        if not self.left and self.ended >= len(self.starts):
            self.done.set()
        return answers

    def take(self, count: int) -> list[Workload]:
        """Return the next ``count`` attempts, or as many as are left."""
        count = min(count, self.left)
        self.left -= count
        return [self._next() for _ in range(count)]

    def _next(self) -> Workload:
        self.made += 1
        path = f"noop/run/task_{self.made}/attempt=1.jsonl"
        return make_workload("nothing", dag_id="noop", file="noop.py", log_path=path)


def main(options: list[str]) -> None:
    """Run the tasks and report tasks per second and CPU per task by kind of process."""
    parser = argparse.ArgumentParser(prog="python -m bench hosts", description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--parallelism", type=int, default=32)
    parser.add_argument("--tasks-per-child", type=int, default=1)
    chosen = parser.parse_args(options)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "dags").mkdir()
        (Path(folder) / "dags" / "noop.py").write_text(_DAG)
        settings = Settings(home=Path(folder), parallelism=chosen.parallelism, tasks_per_child=chosen.tasks_per_child)
        figures = _measure(settings, chosen.tasks)
    report("hosts", vars(chosen), figures)


def _measure(settings: Settings, count: int) -> dict[str, float]:
    execution = Feeding(1)
    executor = execution.executor = LocalExecutor(cast("Database", None), settings, execution)
    executor.start(lambda: None)
    try:
        executor.queue(execution.take(1))
        execution.done.wait()
        execution.done.clear()
        progress(f"running {count} tasks")
        execution.left = count
        before, began = _cpu_seconds(executor), time.perf_counter()
        executor.queue(execution.take(settings.parallelism))
        execution.done.wait()
        seconds = time.perf_counter() - began
        _wait_for_children(executor)
        after = _cpu_seconds(executor)
    finally:
        executor.end()
    figures = {f"{kind}_cpu_ms_per_task": (after[kind] - before[kind]) * 1000 / count for kind in before}
    workers = sum(figures[f"{kind}_cpu_ms_per_task"] for kind in ("host", "templates", "children"))
    return {"tasks_per_s": count / seconds, "cpu_ms_per_task": workers} | figures


def _wait_for_children(executor: LocalExecutor) -> None:
    """Wait until ended children are reaped, so that their time is counted."""
    while any(children_of(template) for template in _templates(executor)):
        time.sleep(0.05)


def _templates(executor: LocalExecutor) -> list[int]:
    assert executor.host_pid is not None
    (zygote,) = children_of(executor.host_pid)
    return children_of(zygote)


def _cpu_seconds(executor: LocalExecutor) -> dict[str, float]:
    """CPU used so far, by kind of process; the executor is this process."""
    own = os.times()
    assert executor.host_pid is not None
    (zygote,) = children_of(executor.host_pid)
    templates = [_times(pid) for pid in children_of(zygote)]
    return {
        "executor": own.user + own.system,
        "host": _times(executor.host_pid)[0],
        "templates": _times(zygote)[0] + sum(one for one, _ in templates),
        "children": sum(children for _, children in templates),
    }


def _times(pid: int) -> tuple[float, float]:
    """CPU seconds of a process itself, and of its ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = [int(one) / os.sysconf("SC_CLK_TCK") for one in fields[11:15]]
    return ticks[0] + ticks[1], ticks[2] + ticks[3]


if __name__ == "__main__":
    main(sys.argv[1:])
