"""Several schedulers on one durable PostgreSQL, each with a runner host below it, triggerers, and a load of runs.

For the chaos benchmark and its short form among the tests. Whatever it starts ends with it: the process becomes the
parent of every orphan below it, so nothing that was started can hide. All but the web server's port is on unix sockets
in its folder.
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
from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench import chaos_dags, processes
from bench.beside import Beside
from treadle import collection
from treadle import document as documents
from treadle.digest import digest
from treadle.serialization import document_of
from treadle_metadata import backfills, migration, pausing, runs
from treadle_metadata.catalog import FileState, ParsedDag, ParsedFile, store_parsed
from treadle_metadata.connection import Database
from treadle_metadata.embedded_postgres import EmbeddedPostgres
from treadle_metadata.resources.pools import create_pool
from treadle_metadata.settings import Settings, load
from treadle_metadata.statements import rows
from treadle_scheduler.calendar import next_run
from treadle_worker.system import adopt_orphans

LEASE_SECONDS = 2.0
GRACE_SECONDS = 0.5
RENEWAL_SECONDS = 0.5
EXECUTOR_PLACES = 8
TRIGGERERS = 2
BACKFILL_DAYS = 4
CLOCKS_APART = timedelta(seconds=10)
"""More than the monkey sets a clock back."""


class Cluster:
    """One database and its schedulers, in ``folder``."""

    def __init__(self, folder: Path, schedulers: int = 3) -> None:
        self.home = folder / "home"
        (self.home / "dags").mkdir(parents=True)
        self.notes = chaos_dags.Notes(folder / "signs", folder / "calls", folder / "steps")
        for path in astuple(self.notes):
            path.touch()
        self.server = EmbeddedPostgres(folder / "postgres", "chaos")
        self.schedulers: list[subprocess.Popen[bytes] | None] = [None] * schedulers
        self._began: dict[int, datetime] = {}
        self.stopping: set[int] = set()
        """Schedulers that were told to end."""
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
            "TREADLE_EXECUTOR_PARALLELISM": f"local={EXECUTOR_PLACES}",
            "TREADLE_MAX_ACTIVE_RUNS_PER_DAG": "2",
            "TREADLE_RECORD_TRANSITIONS": "true",
        }
        self.settings: Settings = load(self.environment)
        migration.migrate(self.server.url(), datetime.now(UTC))
        # Who is to let stopped processes go on must not wait for the locks that they hold.
        self.database = Database(f"{self.server.url()}&options=-c%20statement_timeout%3D2000", application_name="chaos")
        self._install()
        self.beside = Beside(self.home, self.environment, self.settings, TRIGGERERS)
        self.beside.revive()
        for number in range(len(self.schedulers)):
            self.set_clock(number, 0.0)
            self.start(number)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.end_schedulers()
            self.beside.end()
        finally:
            self.kill_all(self.ours())
            self.database.close()
            self.server.stop()

    def _install(self) -> None:
        with self.database.begin() as connection:
            for name, slots in chaos_dags.POOLS.items():
                create_pool(connection, name, slots)
        for name, source in chaos_dags.texts(self.notes, LEASE_SECONDS).items():
            self.store(name, source)

    def store(self, name: str, source: str) -> None:
        """Put a DAG file into its folder and store its DAGs as the DAG processor would."""
        path = self.home / "dags" / name
        fresh = path.with_suffix(".fresh")
        fresh.write_text(source)
        collection.begin()
        found = [document_of(dag) for dag in collection.collect(runpy.run_path(str(fresh)).values())]
        fresh.replace(path)
        state = FileState(path.stat().st_mtime_ns, len(source), hashlib.sha256(source.encode()).hexdigest())
        dags = tuple(ParsedDag(one.dag_id, documents.to_json(one), digest(one)) for one in found)
        parsed = ParsedFile(name, state, 0.1, source, dags)
        now = datetime.now(UTC)
        with self.database.begin() as connection:
            stored = store_parsed(
                connection,
                [parsed],
                now=now,
                plan=lambda document, last: next_run(document, last=last, now=now, cron_style="trigger"),
                paused_by_default=False,
            )
        if stored.errors:
            raise RuntimeError(f"{name} cannot be stored: {stored.errors}")

    def come_to_rest(self) -> None:
        """Let no further run begin by itself: what is there can come to its end."""
        self.store(chaos_dags.TICKING, chaos_dags.ticking(self.notes, on=False))
        with self.database.begin() as connection:
            dags = [row["dag_id"] for row in rows(connection, "SELECT dag_id FROM dag")]
            pausing.set_paused(connection, dags, False, now=datetime.now(UTC))

    def _clock(self, number: int) -> Path:
        return self.home / f"clock.{number}"

    def set_clock(self, number: int, seconds: float) -> None:
        """Let the clock of scheduler ``number`` be off by ``seconds``, from now on."""
        fresh = self._clock(number).with_suffix(".fresh")
        fresh.write_text(str(seconds))
        fresh.replace(self._clock(number))

    def start(self, number: int) -> None:
        """Start scheduler ``number``."""
        command = [sys.executable, "-m", "bench.stepping", str(self._clock(number))]
        with self.log.open("ab") as log:
            started = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)
        self.schedulers[number] = started
        self._began[started.pid] = datetime.now(UTC)
        self.stopping.discard(started.pid)

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
                in_order = one.pid in self.stopping and code == 0
                if code != -signal.SIGKILL and not in_order and self.had_started(one.pid):
                    codes.append(code)
                self.start(number)
        return codes

    def had_started(self, pid: int) -> bool:
        """Tell whether a scheduler came so far as to register itself; before, a signal or an outage just ends it."""
        since = self._began[pid] - CLOCKS_APART  # pids come again
        known = "SELECT FROM process WHERE pid = %(pid)s AND started_at > %(since)s"
        return bool(self.select(known, pid=pid, since=since))

    def feed(self) -> None:
        """Make runs until each DAG has as many that are not over as it wants, and a backfill if none is under way."""
        unfinished = {row["dag_id"]: row["n"] for row in self.select(_UNFINISHED)}
        for dag_id, wanted in chaos_dags.WAITING.items():
            for _ in range(wanted - unfinished.get(dag_id, 0)):
                with self.database.begin() as connection:
                    runs.trigger_run(connection, dag_id, now=datetime.now(UTC))
        filled = self.select(_FILLED)[0]
        if not filled["under_way"]:
            first = (filled["last"] or datetime(2020, 1, 1, tzinfo=UTC)) + timedelta(days=1)
            last = first + timedelta(days=BACKFILL_DAYS - 1)
            with self.database.begin() as connection:
                now = datetime.now(UTC)
                backfills.create(connection, chaos_dags.BACKFILLED, first, last, max_active_runs=2, now=now)

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
        """Return our processes that are below no living daemon."""
        kept = {pid for one in self.living() for pid in processes.tree(one.pid)} | self.beside.pids()
        return [pid for pid in self.ours() if pid not in kept]

    def end_schedulers(self, seconds: float = 20.0) -> dict[int, int]:
        """End the schedulers in order and return their exit codes by pid; one that does not end is killed."""
        codes = {}
        for one in self.living():
            one.send_signal(signal.SIGCONT)
            one.send_signal(signal.SIGTERM)
        for scheduler in self.schedulers:
            if scheduler is not None:
                try:
                    codes[scheduler.pid] = scheduler.wait(seconds)
                except subprocess.TimeoutExpired:
                    scheduler.kill()
                    codes[scheduler.pid] = scheduler.wait()
        self.schedulers = [None for _ in self.schedulers]
        return codes

    @staticmethod
    def kill_all(pids: list[int]) -> None:
        """Kill processes."""
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


_FILLED = "SELECT max(to_date) AS last, bool_or(completed_at IS NULL) AS under_way FROM backfill"
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
