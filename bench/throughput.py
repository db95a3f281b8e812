"""Tasks per second through a whole installation: scheduler, executor, one process per attempt.

With ``--executor celery``: through a Redis, a Celery worker without a database, and the web server's Execution API.

Shapes: ``wide`` (independent no-op Python tasks), ``chain`` (runs of a 5-task chain), ``mapped`` (one task mapped
many-fold), ``empty`` (one run of EmptyOperator tasks).
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack

from bench import processes
from bench.brokered import brokered
from bench.installation import Installation, installed
from bench.report import progress, report

HEAD = "from treadle import DAG, task\nfrom treadle.operators import EmptyOperator\n"
SOURCES = {
    "wide": """
with DAG("bench", max_active_tasks=100000):
    @task
    def noop():
        return None
    for _ in range({tasks}):
        noop()
""",
    "chain": """
with DAG("bench", max_active_runs=100000, max_active_tasks=100000):
    @task
    def noop():
        return None
    one, two, three, four, five = (noop() for _ in range(5))
    one >> two >> three >> four >> five
""",
    "mapped": """
with DAG("bench", max_active_tasks=100000):
    @task
    def noop(number):
        return None
    noop.expand(number=list(range({tasks})))
""",
    "empty": """
with DAG("bench", max_active_tasks=100000):
    for number in range({tasks}):
        EmptyOperator(task_id=f"t{{number}}")
""",
}
DEFAULT_TASKS = {"wide": 200, "chain": 200, "mapped": 200, "empty": 500}


def main(options: list[str]) -> None:
    """Run one shape and report tasks per second, CPU and transactions per task."""
    parser = argparse.ArgumentParser(prog="python -m bench throughput", description=__doc__)
    parser.add_argument("--shape", choices=sorted(SOURCES), default="wide")
    parser.add_argument("--executor", choices=("local", "celery"), default="local")
    parser.add_argument("--tasks", type=int, help="tasks in all (default: 200, empty: 500)")
    parser.add_argument("--tasks-per-child", type=int, default=1)
    parser.add_argument("--parallelism", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=3, help="measured rounds; the median counts")
    chosen = parser.parse_args(options)
    tasks = chosen.tasks or DEFAULT_TASKS[chosen.shape]
    environment = {
        "TREADLE_PARALLELISM": str(chosen.parallelism),
        "TREADLE_TASKS_PER_CHILD": str(chosen.tasks_per_child),
    }
    source = HEAD + SOURCES[chosen.shape].format(tasks=tasks)
    runs = tasks // 5 if chosen.shape == "chain" else 1
    with ExitStack() as stack:
        if chosen.executor == "celery":
            installation = stack.enter_context(brokered({"bench": source}, chosen.parallelism, **environment))
        else:
            installation = stack.enter_context(installed({"bench": source}, **environment))
        installation.wait_for_dag("bench")
        rounds = [measure(installation, runs, tasks, ended) for ended in range(0, (chosen.repeat + 1) * runs, runs)]
    figures = sorted(rounds[1:], key=lambda one: one["tasks_per_s"])[len(rounds[1:]) // 2]
    report("throughput", vars(chosen) | {"tasks": tasks}, figures)


def measure(installation: Installation, runs: int, tasks: int, ended: int) -> dict[str, float]:
    """Make the runs and return the figures of this round; the first round warms the templates.

    The time is the watcher's: from before the first trigger until all runs are seen to have ended.
    """
    ours, _ = installation.pids()
    cpu, transactions = processes.cpu_seconds(ours), _transactions(installation)
    began = time.perf_counter()
    for _ in range(runs):
        installation.trigger("bench")
    installation.wait_for_runs(ended + runs, 300)
    seconds = time.perf_counter() - began
    ours, _ = installation.pids()
    progress(f"{tasks} tasks in {seconds:.3f} s")
    return {
        "tasks_per_s": tasks / seconds,
        "cpu_ms_per_task": (processes.cpu_seconds(ours) - cpu) * 1000 / tasks,
        "transactions_per_task": (_transactions(installation) - transactions) / tasks,
    }


def _transactions(installation: Installation) -> float:
    """Return the transactions committed so far, the watcher's own included; backends tell once a second."""
    time.sleep(1.5)
    count = "SELECT sum(xact_commit) AS n FROM pg_stat_database WHERE datname = current_database()"
    return float(installation.select(count)[0]["n"])
