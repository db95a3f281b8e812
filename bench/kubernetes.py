"""Pods against the test cluster: creations a second, memory of thousands at once, and the cold start of an attempt.

The cluster is a process of its own and shares the machine's processors; its pods only pretend to run, apart from those
of the cold start, which are real processes of ``treadle task run``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast
from uuid import UUID

from tests.support.execution_over_http import execution_server
from tests.support.waiting import wait_until

from bench.report import progress, quantile, report
from treadle_executors.conformance import DAG_FILE, make_workload
from treadle_executors.kubernetes.executor import KubernetesExecutor
from treadle_executors.memory_execution import MemoryExecution
from treadle_metadata.connection import Database
from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.settings import Settings


class AllQueued:
    """Leases that are never lost; what the database does is measured elsewhere."""

    def keep(self, of_tasks: Sequence[AttemptRef], of_callbacks: Sequence[AttemptRef]) -> set[UUID]:
        """Return all."""
        return {one.attempt_id for one in (*of_tasks, *of_callbacks)}


def main(options: list[str]) -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(prog="python -m bench kubernetes", description=__doc__)
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--at-once", type=int, default=8, help="creates_at_once")
    parser.add_argument("--starts", type=int, default=10, help="cold starts")
    chosen = parser.parse_args(options)
    with tempfile.TemporaryDirectory(prefix="treadle-bench-") as folder:
        figures = _pods(Path(folder), chosen.pods, chosen.at_once)
        figures |= _cold_start(Path(folder), chosen.starts)
    report("kubernetes", vars(chosen), figures)


def _pods(home: Path, count: int, at_once: int) -> dict[str, float]:
    kubeconfig = home / "kubeconfig"
    cluster = subprocess.Popen(
        [sys.executable, "-m", "tests.support.kubernetes_api", str(kubeconfig)], stdin=subprocess.PIPE
    )
    try:
        wait_until(kubeconfig.exists, 30)
        (home / "kubernetes.toml").write_text(
            f'kubeconfig = "{kubeconfig}"\nimage = "treadle:bench"\ncreates_at_once = {at_once}\n'
        )
        settings = Settings(
            home=home,
            parallelism=count + 1,
            execution_url="http://127.0.0.1:1",
            jwt_secret="for this benchmark only, 32 characters",
        )
        return _create(settings, count)
    finally:
        cluster.communicate(b"")


def _create(settings: Settings, count: int) -> dict[str, float]:
    executor = KubernetesExecutor(cast("Database", None), settings, leases=AllQueued())
    executor.start(lambda: None)
    first = make_workload("quick")
    executor.queue([first])
    wait_until(lambda: _running(executor) == 1, 30)
    before = _rss()
    workloads = [make_workload("quick") for _ in range(count)]
    began, used = time.monotonic(), time.process_time()
    executor.queue(workloads)
    del workloads
    wait_until(lambda: not executor._book.unmade(), 600)
    made = time.monotonic() - began
    wait_until(lambda: _running(executor) == count + 1, 60)
    seconds = time.process_time() - used
    progress(f"{count} pods in {made:.1f} s")
    growth = _rss() - before
    executor.end()
    return {
        "creations_per_s": count / made,
        "scheduler_cpu_per_pod_ms": 1000 * seconds / count,
        "rss_growth_mib": growth / 2**20,
    }


def _running(executor: KubernetesExecutor) -> int:
    return sum(not one.view.is_pending for one in list(executor._book._pods.values()))


def _cold_start(home: Path, count: int) -> dict[str, float]:
    (home / "dags").mkdir()
    (home / "dags" / "conformance.py").write_text(DAG_FILE)
    seconds = []
    with execution_server(MemoryExecution()) as server:
        for _ in range(count):
            workload = make_workload("quick")
            (home / "workload").write_text(json.dumps(workload))
            environment = {
                **os.environ,
                "TREADLE_HOME": str(home),
                "TREADLE_EXECUTION_URL": server.url,
                "TREADLE_ATTEMPT_TOKEN": "token",
                "TREADLE_WORKLOAD_FILE": str(home / "workload"),
            }
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-m", "treadle_cli", "task", "run"], env=environment, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            assert server.execution.finishes[workload["attempt_id"]]["outcome"] == "success"
    return {"cold_start_cpu_s": quantile(seconds, 0.5)}


def _rss() -> int:
    """Return this process's resident memory, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
