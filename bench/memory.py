"""The memory of a running task above its template: proportional set size of task children that wait."""

from __future__ import annotations

import argparse
import time

from bench import processes
from bench.installation import installed, wait_for
from bench.report import report

SOURCE = """
import time
from treadle import DAG, task

with DAG("bench", max_active_tasks=1000):
    @task
    def wait():
        time.sleep(600)

    for _ in range({tasks}):
        wait()
"""


def main(options: list[str]) -> None:
    """Start waiting tasks and compare the memory with and without them."""
    parser = argparse.ArgumentParser(prog="python -m bench memory", description=__doc__)
    parser.add_argument("--tasks", type=int, default=10)
    chosen = parser.parse_args(options)
    with installed({"bench": SOURCE.format(tasks=chosen.tasks)}, TREADLE_TERMINATE_GRACE_SECONDS="1") as installation:
        installation.wait_for_dag("bench")
        before, _ = installation.pids()
        installation.trigger("bench")
        # The template of the file comes first, then one child for each task.
        wait_for(lambda: len(set(installation.pids()[0]) - set(before)) > chosen.tasks, 30)
        time.sleep(1)
        tasks = sorted(set(installation.pids()[0]) - set(before))[-chosen.tasks :]
        pss = processes.pss_mb(tasks) / len(tasks)
        private = sum(_private_mb(pid) for pid in tasks) / len(tasks)
    report("memory", vars(chosen), {"task_pss_mb": pss, "task_private_mb": private})


def _private_mb(pid: int) -> float:
    with open(f"/proc/{pid}/smaps_rollup") as lines:
        return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1000
