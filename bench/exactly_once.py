"""The proof of exactly-once: tasks that insert a row each, while workers, schedulers and backends are killed.

Every few seconds a random victim gets SIGKILL: a worker, its runner host, the scheduler, or a backend of PostgreSQL,
which takes the whole server through its crash recovery. Rows written must be as many as tasks, none of them twice.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack, suppress
from typing import Final

from bench import processes
from bench.installation import Installation, installed
from bench.report import progress, report
from bench.targets import target
from treadle_metadata import settings as settings_of

SOURCE: Final = """
from treadle import DAG, task
with DAG("bench", max_active_tasks=100000):
    @task.transaction(conn_id="target", retries=1000, retry_delay=0)
    def write(number, transaction):
        transaction.execute("INSERT INTO written VALUES (%s)", (number,))
    write.expand(number=list(range({tasks})))
"""

VICTIMS: Final = ("worker", "host", "scheduler", "backend")


class Daemons:
    """Processes of one command of an installation; those that were killed are started again."""

    def __init__(self, installation: Installation, count: int, *command: str) -> None:
        self._environment = installation.environment | {"TREADLE_DATABASE_URL": installation.database.url}
        self._command = [sys.executable, "-m", "treadle_cli", *command]
        self._log = (installation.home / f"{command[0]}.log").open("ab")
        self.living = [self._start() for _ in range(count)]

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, env=self._environment, stdout=self._log, stderr=self._log)

    @property
    def pids(self) -> list[int]:
        """Those that live."""
        return [one.pid for one in self.living if one.poll() is None]

    def replace_dead(self) -> None:
        """Start a new one for each that is dead."""
        self.living = [one if one.poll() is None else self._start() for one in self.living]

    def stop(self) -> None:
        """End them in order."""
        for one in self.living:
            one.send_signal(signal.SIGTERM)
        for one in self.living:
            one.wait(30)
        self._log.close()


def main(options: list[str]) -> None:
    """Run the proof and report rows, duplicates and kills; fails if a row is missing or there twice."""
    parser = argparse.ArgumentParser(prog="python -m bench exactly_once", description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--concurrency", type=int, default=4, help="attempts at once of each worker")
    parser.add_argument("--every", type=float, default=2.0, help="seconds between kills")
    parser.add_argument("--one-commit", action="store_true", help="the task's role may commit the task's end, too")
    parser.add_argument("--tasks-per-child", type=int, default=1)
    parser.add_argument("--for", dest="killing", type=float, help="seconds after which nothing is killed any more")
    parser.add_argument("--victims", default=",".join(VICTIMS), help="what may be killed, with commas between")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which it has failed")
    chosen = parser.parse_args(options)
    environment = {
        "TREADLE_EXECUTOR": "transactional",
        "TREADLE_PARALLELISM": str(2 * chosen.workers * chosen.concurrency),
        "TREADLE_TASKS_PER_CHILD": str(chosen.tasks_per_child),
        "TREADLE_LEASE_SECONDS": "4",
        "TREADLE_LEASE_RENEWAL_SECONDS": "1",
    }
    with ExitStack() as stack:
        installation = stack.enter_context(installed({}, **environment))
        settings = settings_of.load(installation.environment)
        where = stack.enter_context(target(installation.database, settings, one_commit=chosen.one_commit))
        (installation.home / "dags" / "bench.py").write_text(SOURCE.format(tasks=chosen.tasks))
        installation.wait_for_dag("bench")
        # Beside the one of standalone, which is started again later and later if it keeps dying.
        schedulers = Daemons(installation, 2, "scheduler")
        stack.callback(schedulers.stop)
        workers = Daemons(installation, chosen.workers, "worker", "-c", str(chosen.concurrency))
        stack.callback(workers.stop)
        began = time.perf_counter()
        installation.trigger("bench")
        kills = _kill_until_over(installation, workers, schedulers, chosen)
        seconds = time.perf_counter() - began
        rows, different = where.rows("SELECT count(*), count(DISTINCT number) FROM written")[0]
        tried = installation.select("SELECT count(*) AS n FROM task_attempt WHERE outcome IN ('success', 'failed')")
    figures = {"rows": rows, "duplicates": rows - different, "attempts": tried[0]["n"], "seconds": seconds}
    report("exactly_once", vars(chosen), figures | {f"killed_{name}": kills[name] for name in VICTIMS})
    if (rows, different) != (chosen.tasks, chosen.tasks):
        raise SystemExit(f"{chosen.tasks} tasks wrote {rows} rows, {different} of them different")


def _kill_until_over(
    installation: Installation, workers: Daemons, schedulers: Daemons, chosen: argparse.Namespace
) -> Counter[str]:
    kills: Counter[str] = Counter()
    choice, began = random.Random(chosen.seed), time.perf_counter()
    while not _is_over(installation):
        if time.perf_counter() > began + chosen.limit:
            raise SystemExit(f"the run is not over after {chosen.limit:g} s; kills: {dict(kills)}")
        time.sleep(chosen.every)
        workers.replace_dead()
        schedulers.replace_dead()
        if chosen.killing is not None and time.perf_counter() > began + chosen.killing:
            continue
        victim = choice.choice(chosen.victims.split(","))
        pids = _pids(victim, installation, workers, schedulers)
        with suppress(ProcessLookupError, IndexError):
            os.kill(choice.choice(pids), signal.SIGKILL)
            kills[victim] += 1
    progress(f"kills: {dict(kills)}")
    return kills


def _is_over(installation: Installation) -> bool:
    try:
        found = installation.select("SELECT state FROM dag_run")
        done = installation.select("SELECT count(*) AS n FROM task_instance WHERE state = 'success'")
    except Exception as error:  # a server that was killed is away for a moment
        progress(f"the database is away: {type(error).__name__}")
        return False
    progress(f"{done[0]['n']} tasks have succeeded")
    if found[0]["state"] == "failed":
        raise SystemExit("the run failed")
    return bool(found[0]["state"] == "success")


def _pids(victim: str, installation: Installation, workers: Daemons, schedulers: Daemons) -> list[int]:
    if victim == "worker":
        return workers.pids
    if victim == "scheduler":
        return schedulers.pids
    if victim == "host":
        below = [pid for one in workers.pids for pid in processes.tree(one)]
        return [pid for pid in below if "treadle_worker.host" in _command(pid)]
    _, postgres = processes.split(processes.tree(installation.process.pid))
    return [pid for pid in postgres if "postgres: treadle" in _command(pid)]


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
