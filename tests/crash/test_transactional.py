"""Transactional tasks while workers, their hosts, schedulers and sessions of the database are killed: each row once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from bench import processes
from bench.targets import Target, target
from tests.support.service import Service, command_line
from tests.support.waiting import wait_until

from treadle_executors.transactional.giving_up import REASON
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings

TASKS = 40
KILLS = 4

DAG_FILE = """
from treadle import DAG, task

with DAG("crash", max_active_tasks=1000, default_args={{"retries": 50, "retry_delay": 0}}):

    @task.transaction(conn_id="target")
    def write(number, transaction):
        transaction.execute("INSERT INTO written VALUES (%s)", (number,))
        return number

    for one in range({tasks}):
        write.override(task_id=f"t{{one}}")(number=one)
"""


class Transactional(Service):
    """A scheduler, and workers that take from the database; those that were killed are started again."""

    def __init__(self, home: Path, database: Database) -> None:
        super().__init__(home, database, TREADLE_EXECUTOR="transactional")
        self.workers: list[subprocess.Popen[bytes]] = []

    def _write(self, tasks: int, seconds: float, retries: int) -> str:  # noqa: ARG002 - the base's
        source = DAG_FILE.format(tasks=tasks)
        (self.home / "dags" / "crash.py").write_text(source)
        return source

    def start_worker(self) -> None:
        command = [sys.executable, "-m", "treadle_cli", "worker", "-c", "4"]
        with (self.home / "worker.log").open("ab") as log:
            self.workers.append(subprocess.Popen(command, env=self.environment, stdout=log, stderr=log))

    def wait_for_progress(self) -> None:
        """Wait until another task has succeeded, or all have."""
        before = self.finished()
        wait_until(lambda: self.finished() > before or self.run_state() == "success", 40)

    def kill(self, victim: str = "scheduler") -> None:
        """Kill a worker, a runner host, the scheduler, or the sessions in which tasks write."""
        assert self.process is not None
        if victim == "scheduler":
            super().kill()
            self.start()
        elif victim == "sessions":
            self.select(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE 'treadle_target_%%'"
                " OR application_name = 'treadle worker' AND datname = current_database()"
            )
        elif victim == "worker":
            self.workers[0].kill()
            self.workers.pop(0).wait()
            self.start_worker()
        else:
            for pid in processes.tree(self.workers[0].pid):
                if "treadle_worker.host" in command_line(pid):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        for one in self.workers:
            one.send_signal(signal.SIGTERM)
        for one in self.workers:
            one.wait(20)
        super().stop()


@contextmanager
def transactional(home: Path, database: Database, settings: Settings) -> Iterator[tuple[Transactional, Target]]:
    one = Transactional(home, database)
    own = replace(settings, fernet_key=one.environment["TREADLE_FERNET_KEY"])
    with target(database, own) as where:
        try:
            one.install(TASKS, retries=50)
            one.start()
            one.start_worker()
            yield one, where
        finally:
            one.stop()


def test_each_row_is_written_once_whatever_is_killed(home: Path, own_database: Database, settings: Settings) -> None:
    """The short form of ``python -m bench exactly_once``."""
    choice = random.Random(7)
    with transactional(home, own_database, settings) as (one, where):
        one.trigger()
        for victim in choice.sample(["worker", "host", "scheduler", "sessions"] * 2, KILLS):
            one.wait_for_progress()
            one.kill(victim)
        one.wait_for_end(120)
        assert one.run_state() == "success"
        assert sorted(where.rows("SELECT number FROM written")) == [(number,) for number in range(TASKS)]
        assert where.rows("SELECT count(*) FROM treadle_inbox") == [(TASKS,)]
        outcomes = one.select("SELECT outcome, count(*) AS n FROM task_attempt GROUP BY outcome")
        assert {row["outcome"]: row["n"] for row in outcomes}["success"] == TASKS
        one.assert_history_is_lawful()


class Counting(Transactional):
    """Tasks that only count, and leases that nobody waits for."""

    def __init__(self, home: Path, database: Database) -> None:
        super().__init__(home, database)
        self.environment |= {"TREADLE_LEASE_SECONDS": "600", "TREADLE_LEASE_RENEWAL_SECONDS": "10"}

    _write = Service._write


def test_a_worker_that_starts_again_gives_up_what_the_killed_one_ran_without_waiting_for_leases(
    home: Path, own_database: Database
) -> None:
    one = Counting(home, own_database)
    try:
        one.install(2, seconds=600)
        one.start()
        one.start_worker()
        one.trigger()
        wait_until(lambda: one.counts.read_text().count("\n") == 2, 40)
        one.rewrite(2, 0)
        one.kill("worker")
        one.wait_for_end(120)
        ended = one.select(
            "SELECT outcome, error ->> 'message' AS why, try_number FROM task_attempt ORDER BY queued_at"
        )
        assert [(row["outcome"], row["try_number"]) for row in ended] == [("failed", 1)] * 2 + [("success", 2)] * 2
        assert {row["why"] for row in ended[:2]} == {REASON}
        one.assert_history_is_lawful()
    finally:
        one.stop()
