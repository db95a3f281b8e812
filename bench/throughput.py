"""Tasks per second through a whole installation: scheduler, executor, one process per attempt.

With ``--executor celery``: through a Redis, a Celery worker without a database, and the web server's Execution API.
With ``--executor transactional``: through the database's queue and a ``treadle worker``.

Shapes: ``wide`` (independent no-op Python tasks), ``chain`` (runs of a 5-task chain), ``mapped`` (one task mapped
many-fold), ``empty`` (one run of EmptyOperator tasks), ``insert`` (independent ``@task.transaction``, each of which
inserts a row in a schema of its own; how many rows there are is checked).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from bench import processes
from bench.brokered import brokered, database_worker
from bench.installation import Installation, installed
from bench.report import progress, report
from bench.targets import Target, target
from treadle_metadata import settings as settings_of

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
    "insert": """
with DAG("bench", max_active_tasks=100000):
    @task.transaction(conn_id="target")
    def write(number, transaction):
        transaction.execute("INSERT INTO written VALUES (%s)", (number,))
    for number in range({tasks}):
        write(number)
""",
}
DEFAULT_TASKS = {"wide": 200, "chain": 200, "mapped": 200, "empty": 500, "insert": 200}


def main(options: list[str]) -> None:
    """Run one shape and report tasks per second, CPU and transactions per task."""
    parser = argparse.ArgumentParser(prog="python -m bench throughput", description=__doc__)
    parser.add_argument("--shape", choices=sorted(SOURCES), default="wide")
    parser.add_argument("--executor", choices=("local", "celery", "transactional"), default="local")
    parser.add_argument("--tasks", type=int, help="tasks in all (default: 200, empty: 500)")
    parser.add_argument("--one-commit", action="store_true", help="of insert: the commit carries the task's end, too")
    parser.add_argument("--tasks-per-child", type=int, default=1)
    parser.add_argument("--parallelism", type=int, help="attempts under way (default: 16; transactional: 32)")
    parser.add_argument(
        "--slots", type=int, help="of a worker: those that run (default: --parallelism if given, or 16)"
    )
    parser.add_argument("--repeat", type=int, default=3, help="measured rounds; the median counts")
    chosen = parser.parse_args(options)
    tasks = chosen.tasks or DEFAULT_TASKS[chosen.shape]
    chosen.slots = chosen.slots or chosen.parallelism or 16
    # The defaults of the setting and of ``treadle worker``: a queue in a database is there to hold what comes next.
    chosen.parallelism = chosen.parallelism or (32 if chosen.executor == "transactional" else 16)
    environment = {
        "TREADLE_PARALLELISM": str(chosen.parallelism),
        "TREADLE_TASKS_PER_CHILD": str(chosen.tasks_per_child),
    }
    source = HEAD + SOURCES[chosen.shape].format(tasks=tasks)
    runs = tasks // 5 if chosen.shape == "chain" else 1
    with ExitStack() as stack:
        installation = stack.enter_context(started(chosen.executor, {"bench": source}, chosen.slots, environment))
        where = None
        if chosen.shape == "insert":
            settings = settings_of.load(installation.environment)
            where = stack.enter_context(target(installation.database, settings, one_commit=chosen.one_commit))
        installation.wait_for_dag("bench")
        rounds = [measure(installation, runs, tasks, ended) for ended in range(0, (chosen.repeat + 1) * runs, runs)]
        if where is not None:
            check(where, (chosen.repeat + 1) * tasks)
    figures = sorted(rounds[1:], key=lambda one: one["tasks_per_s"])[len(rounds[1:]) // 2]
    report("throughput", vars(chosen) | {"tasks": tasks}, figures)


@contextmanager
def started(
    executor: str, dags: Mapping[str, str], slots: int, environment: Mapping[str, str]
) -> Iterator[Installation]:
    """Start an installation whose attempts go by way of ``executor``, with a worker of ``slots`` if it needs one."""
    if executor == "celery":
        with brokered(dags, slots, **environment) as installation:
            yield installation
    elif executor == "transactional":
        with (
            installed(dags, TREADLE_EXECUTOR="transactional", **environment) as installation,
            database_worker(installation, slots) as pid,
        ):
            installation.beside = [pid]
            yield installation
    else:
        with installed(dags, **environment) as installation:
            yield installation


def check(where: Target, rows: int) -> None:
    """Raise unless as many rows were written as tasks have run."""
    found = where.rows("SELECT count(*) FROM written")[0][0]
    if found != rows:
        raise RuntimeError(f"{rows} tasks wrote {found} rows")


def measure(installation: Installation, runs: int, tasks: int, ended: int) -> dict[str, float]:
    """Make the runs and return the figures of this round; the first round warms the templates.

    The time is the watcher's: from before the first trigger until all runs are seen to have ended.
    """
    before, transactions = _cpu(installation), _transactions(installation)
    began = time.perf_counter()
    for _ in range(runs):
        installation.trigger("bench")
    installation.wait_for_runs(ended + runs, 300)
    seconds = time.perf_counter() - began
    after = _cpu(installation)
    progress(f"{tasks} tasks in {seconds:.3f} s")
    return {
        "tasks_per_s": tasks / seconds,
        "cpu_ms_per_task": (after[0] - before[0]) * 1000 / tasks,
        "postgres_cpu_ms_per_task": (after[1] - before[1]) * 1000 / tasks,
        "transactions_per_task": (_transactions(installation) - transactions) / tasks,
    }


def _cpu(installation: Installation) -> tuple[float, float]:
    """Return the CPU seconds used so far by our processes and by PostgreSQL's, with the children they reaped."""
    ours, postgres = installation.pids()
    return processes.cpu_seconds(ours), processes.cpu_seconds(postgres)


def _transactions(installation: Installation) -> float:
    """Return the transactions committed so far, the watcher's own included; backends tell once a second."""
    time.sleep(1.5)
    count = "SELECT sum(xact_commit) AS n FROM pg_stat_database WHERE datname = current_database()"
    return float(installation.select(count)[0]["n"])
