"""Several schedulers on one durable PostgreSQL, each with a runner host below it, and a load of runs.

For the chaos benchmark and its short form among the tests. Whatever it starts ends with it: the process becomes the
parent of every orphan below it, so nothing that was started can hide. Everything is on unix sockets in its folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import processes
from bench.documents import install
from treadle import collection
from treadle.serialization import document_of
from treadle_metadata import migration, runs
from treadle_metadata.connection import Database
from treadle_metadata.embedded_postgres import EmbeddedPostgres
from treadle_metadata.resources.pools import create_pool
from treadle_metadata.settings import Settings, load
from treadle_metadata.statements import rows
from treadle_worker.system import adopt_orphans

LEASE_SECONDS = 2.0
GRACE_SECONDS = 0.5
RENEWAL_SECONDS = 0.5
WAITING = {"chain": 4, "wide": 4, "pools": 4, "capped": 4, "long": 1, "stubborn": 4, "doomed": 2}
"""How many runs of each DAG are to be under way or waiting: more than may run at a time."""

SOURCE = """
import os
import time

from treadle import DAG, get_current_context, task

SIGNS = os.open({signs!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def sign(kind):
    ti = get_current_context()["ti"]
    facts = (ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.try_number, os.getpid(), kind, time.monotonic())
    os.write(SIGNS, ("|".join(map(str, facts)) + "\\n").encode())


def work(seconds):
    sign("begin")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(min(0.1, seconds))
        sign("tick")
    sign("end")


ARGUMENTS = {{"retries": 100, "retry_delay": 0}}

with DAG("chain", max_active_runs=2, default_args=ARGUMENTS):
    last = None
    for number in range(6):
        one = task(task_id=f"t{{number}}")(work)(0.03)
        if last is not None:
            last >> one
        last = one

with DAG("wide", max_active_runs=2, max_active_tasks=4, default_args=ARGUMENTS):
    first, join = task(task_id="first")(work)(0.02), task(task_id="join")(work)(0.02)
    for number in range(10):
        first >> task(task_id=f"t{{number}}")(work)(0.1) >> join

with DAG("pools", max_active_runs=2, default_args=ARGUMENTS):
    for number in range(6):
        task(task_id=f"t{{number}}", pool="narrow", pool_slots=1 + number % 2)(work)(0.2)

with DAG("capped", max_active_runs=2, default_args=ARGUMENTS):
    work_with = task(task_id="mapped", max_active_tis_per_dag=3, max_active_tis_per_dagrun=2)(work)
    work_with.expand(seconds=[0.05, 0.1, 0.15, 0.05, 0.1])

with DAG("long", max_active_runs=1, default_args=ARGUMENTS):
    for number in range(2):
        task(task_id=f"t{{number}}")(work)(3 * {lease})


def fail(tries):
    work(0.05)
    if get_current_context()["ti"].try_number <= tries:
        raise RuntimeError("as planned")


with DAG("stubborn", max_active_runs=2, default_args=ARGUMENTS):
    for number in range(2):
        task(task_id=f"t{{number}}")(fail)(2)

with DAG("doomed", max_active_runs=1, default_args={{"retries": 1, "retry_delay": 0}}):
    task(task_id="t")(fail)(1000) >> task(task_id="never")(work)(0.0)
"""


class Cluster:
    """One database and its schedulers, in ``folder``."""

    def __init__(self, folder: Path, schedulers: int = 3) -> None:
        self.home = folder / "home"
        (self.home / "dags").mkdir(parents=True)
        self.signs = folder / "signs"
        self.signs.touch()
        self.server = EmbeddedPostgres(folder / "postgres", "chaos")
        self.schedulers: list[subprocess.Popen[bytes] | None] = [None] * schedulers
        self.log = self.home / "schedulers.log"

    def __enter__(self) -> Cluster:
        adopt_orphans()
        self.server.start()
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TREADLE_")},
            "TREADLE_HOME": str(self.home),
            "TREADLE_DATABASE_URL": self.server.url(),
            "TREADLE_FERNET_KEY": "dHJlYWRsZS10ZXN0cy1vbmx5LWtleS0zMi1ieXRlcyE=",
            "TREADLE_JWT_SECRET": "for chaos only: a key of more than 32 characters",
            "TREADLE_LEASE_SECONDS": str(LEASE_SECONDS),
            "TREADLE_LEASE_RENEWAL_SECONDS": str(RENEWAL_SECONDS),
            "TREADLE_HEARTBEAT_SECONDS": "0.5",
            "TREADLE_TERMINATE_GRACE_SECONDS": str(GRACE_SECONDS),
            "TREADLE_PARALLELISM": "10",
            "TREADLE_RECORD_TRANSITIONS": "true",
        }
        self.settings: Settings = load(self.environment)
        migration.migrate(self.server.url(), datetime.now(UTC))
        # Who is to let stopped processes go on must not wait for the locks that they hold.
        self.database = Database(f"{self.server.url()}&options=-c%20statement_timeout%3D2000", application_name="chaos")
        self._install()
        for number in range(len(self.schedulers)):
            self.start(number)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.end_schedulers()
        finally:
            self.kill_all(self.ours())
            self.database.close()
            self.server.stop()

    def _install(self) -> None:
        source = SOURCE.format(signs=str(self.signs), lease=LEASE_SECONDS)
        path = self.home / "dags" / "load.py"
        path.write_text(source)
        digest = hashlib.sha256(source.encode()).hexdigest()
        collection.begin()
        with self.database.begin() as connection:
            create_pool(connection, "narrow", 3)
            for dag in collection.collect(runpy.run_path(str(path)).values()):
                install(connection, document_of(dag), now=datetime.now(UTC), file=path.name)
            connection.exec_driver_sql("UPDATE dag_version SET file_hash = %(hash)s", {"hash": digest})

    def start(self, number: int) -> None:
        """Start scheduler ``number``."""
        command = [sys.executable, "-m", "treadle_cli", "scheduler"]
        with self.log.open("ab") as log:
            self.schedulers[number] = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)

    def living(self) -> list[subprocess.Popen[bytes]]:
        """Return the schedulers that run."""
        return [one for one in self.schedulers if one is not None and one.poll() is None]

    def revive(self) -> list[int]:
        """Start the schedulers that are gone; return the exit codes of those that died of themselves.

        One that found no database at its start has said so and left, as it should; its supervisor starts it again.
        """
        codes = []
        for number, one in enumerate(self.schedulers):
            code = None if one is None else one.poll()
            if one is not None and code is not None:
                if code != -signal.SIGKILL and self._had_started(one.pid):
                    codes.append(code)
                self.start(number)
        return codes

    def _had_started(self, pid: int) -> bool:
        return bool(self.select("SELECT FROM process WHERE pid = %(pid)s", pid=pid))

    def feed(self) -> None:
        """Make runs until each DAG has as many that are not over as it wants."""
        unfinished = {row["dag_id"]: row["n"] for row in self.select(_UNFINISHED)}
        for dag_id, wanted in WAITING.items():
            for _ in range(wanted - unfinished.get(dag_id, 0)):
                with self.database.begin() as connection:
                    runs.trigger_run(connection, dag_id, now=datetime.now(UTC))

    def select(self, sql: Any, **parameters: Any) -> list[Mapping[str, Any]]:
        """Read from the database."""
        return self.database.run(lambda connection: list(rows(connection, sql, parameters)))

    def ours(self) -> list[int]:
        """Return all living processes below this one, but for PostgreSQL's; reap the orphans that have ended."""
        postgres = self.server.pid
        known = {one.pid for one in self.schedulers if one is not None} | {os.getpid()}
        others = set(processes.tree(os.getpid())) - (set() if postgres is None else set(processes.tree(postgres)))
        for pid in others - known:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        return sorted(pid for pid in others - {os.getpid()} if processes.name(pid) and not is_zombie(pid))

    def left_behind(self) -> list[int]:
        """Return our processes that are below no living scheduler."""
        kept = {pid for one in self.living() for pid in processes.tree(one.pid)}
        return [pid for pid in self.ours() if pid not in kept]

    def end_schedulers(self, seconds: float = 20.0) -> list[int]:
        """End the schedulers in order and return their exit codes; one that does not end is killed."""
        codes = []
        for one in self.living():
            one.send_signal(signal.SIGCONT)
            one.send_signal(signal.SIGTERM)
        for scheduler in self.schedulers:
            if scheduler is not None:
                try:
                    codes.append(scheduler.wait(seconds))
                except subprocess.TimeoutExpired:
                    scheduler.kill()
                    codes.append(scheduler.wait())
        self.schedulers = [None for _ in self.schedulers]
        return codes

    @staticmethod
    def kill_all(pids: list[int]) -> None:
        """Kill processes."""
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


_UNFINISHED = "SELECT dag_id, count(*) AS n FROM dag_run WHERE state IN ('queued', 'running') GROUP BY dag_id"


def command_line(pid: int) -> str:
    """Return a process's command line, or nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def is_zombie(pid: int) -> bool:
    """Tell whether a process has ended and only waits to be reaped."""
    return _stat(pid)[:1] == ["Z"]


def is_task_child(pid: int) -> bool:
    """Tell whether a process runs user code: it leads a group of its own, two forks below a zygote."""
    try:
        template = int(_stat(pid)[1])
        return os.getpgid(pid) == pid and "treadle_worker.zygote" in command_line(int(_stat(template)[1]))
    except (ProcessLookupError, IndexError):
        return False


def is_host(pid: int) -> bool:
    """Tell whether a process is a runner host."""
    return "treadle_worker.host" in command_line(pid)


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
