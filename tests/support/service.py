"""Real daemons for tests that kill them: a scheduler process with its runner host, on a database of the test's own."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import processes
from bench.documents import install
from tests.support.processes import processes_with
from tests.support.waiting import wait_until

from treadle.document import DagDocument, TaskDocument
from treadle_metadata import runs
from treadle_metadata.connection import Database
from treadle_metadata.statements import rows
from treadle_metadata.states import RUN_MOVES, TASK_MOVES, RunState, TaskState

DAG_FILE = """
import os
import time
from pathlib import Path

from treadle import DAG, task

with DAG("crash", max_active_tasks=1000, default_args={{"retries": {retries}, "retry_delay": 0}}):

    @task
    def count(number):
        with open("{counts}", "a") as file:
            file.write(f"{{number}}\\n")
        print("counted", number)
        time.sleep({seconds})
        return number

    for one in range({tasks}):
        count.override(task_id=f"t{{one}}")(one)
"""


class Service:
    """A scheduler process that can be killed and started again."""

    def __init__(self, home: Path, database: Database, **environment: str) -> None:
        self.home = home
        self.database = database
        self.counts = home / "counts"
        self.counts.touch()
        self.environment = {
            **os.environ,
            "TREADLE_HOME": str(home),
            "TREADLE_DATABASE_URL": database.url,
            "TREADLE_FERNET_KEY": "dHJlYWRsZS10ZXN0cy1vbmx5LWtleS0zMi1ieXRlcyE=",
            "TREADLE_JWT_SECRET": "for tests only: a key of more than 32 characters",
            "TREADLE_LEASE_SECONDS": "2",
            "TREADLE_LEASE_RENEWAL_SECONDS": "0.5",
            "TREADLE_HEARTBEAT_SECONDS": "0.5",
            "TREADLE_TERMINATE_GRACE_SECONDS": "0.5",
            "TREADLE_PARALLELISM": "8",
            "TREADLE_RECORD_TRANSITIONS": "true",
            **environment,
        }
        self.process: subprocess.Popen[bytes] | None = None

    def install(self, tasks: int, seconds: float = 0.0, retries: int = 3) -> None:
        """Write a DAG file of counting tasks and store its version."""
        source = self._write(tasks, seconds, retries)
        documents = tuple(
            TaskDocument(f"t{n}", operator="PythonOperator", retries=retries, retry_delay_seconds=0)
            for n in range(tasks)
        )
        document = DagDocument("crash", tasks=documents, max_active_tasks=1000)
        with self.database.begin() as connection:
            install(connection, document, now=datetime.now(UTC), file="crash.py")
            connection.exec_driver_sql(
                "UPDATE dag_version SET file_hash = %(hash)s", {"hash": hashlib.sha256(source.encode()).hexdigest()}
            )

    def rewrite(self, tasks: int, seconds: float) -> None:
        """Give the tasks another duration; the DAG keeps its version."""
        source = self._write(tasks, seconds, 3)
        with self.database.begin() as connection:
            connection.exec_driver_sql(
                "UPDATE dag_version SET file_hash = %(hash)s", {"hash": hashlib.sha256(source.encode()).hexdigest()}
            )

    def _write(self, tasks: int, seconds: float, retries: int) -> str:
        source = DAG_FILE.format(counts=self.counts, tasks=tasks, seconds=seconds, retries=retries)
        (self.home / "dags" / "crash.py").write_text(source)
        return source

    def start(self) -> None:
        """Start the scheduler."""
        command = [sys.executable, "-m", "treadle_cli", "scheduler"]
        with (self.home / "scheduler.log").open("ab") as log:
            self.process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)

    def kill(self) -> None:
        """Kill the scheduler with SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End the scheduler in order."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)

    def trigger(self) -> int:
        """Make a run."""
        with self.database.begin() as connection:
            return int(runs.trigger_run(connection, "crash", now=datetime.now(UTC))["id"])

    def select(self, sql: Any, **parameters: Any) -> list[Mapping[str, Any]]:
        """Read from the database."""
        with self.database.begin() as connection:
            return list(rows(connection, sql, parameters))

    def finished(self) -> int:
        """Return how many instances have succeeded."""
        return int(self.select("SELECT count(*) AS n FROM task_instance WHERE state = 'success'")[0]["n"])

    def run_state(self) -> str:
        """Return the newest run's state."""
        return str(self.select("SELECT state FROM dag_run ORDER BY id DESC LIMIT 1")[0]["state"])

    def wait_for_end(self, seconds: float = 60) -> None:
        """Wait until the run has ended."""
        wait_until(lambda: self.run_state() in ("success", "failed"), seconds)

    def descendants(self, module: str) -> list[int]:
        """Return the scheduler's descendants that run ``module``."""
        assert self.process is not None
        return [pid for pid in processes.tree(self.process.pid) if module in command_line(pid)]

    def assert_history_is_lawful(self) -> None:
        """Every move is one that the states allow, and each follows on from the one before it."""
        moves = self.select("SELECT entity, entity_id, old_state, new_state FROM state_transition ORDER BY id")
        assert moves, "the history was not recorded"
        at: dict[tuple[str, int], str] = {}
        for move in moves:
            old, new = move["old_state"], move["new_state"]
            lawful = RUN_MOVES[RunState(old)] if move["entity"] == "dag_run" else TASK_MOVES[TaskState(old)]
            assert new in lawful, move
            assert at.setdefault((move["entity"], move["entity_id"]), old) == old, move
            at[move["entity"], move["entity_id"]] = new

    def assert_ended_right(self, tasks: int, kills: int) -> None:
        """The run succeeded, with each task run once, but for those attempts that a kill may have cost."""
        assert self.run_state() == "success"
        tries = {int(one["task_id"][1:]): one["try_number"] for one in self.select("SELECT * FROM task_instance")}
        executions = self.executions()
        assert sorted(tries) == sorted(executions) == list(range(tasks))
        # Code runs only after its start is recorded, so no execution is without an attempt that was charged, or that a
        # worker that stopped in order handed back.
        back = self.select(
            """
            SELECT task_id FROM task_attempt AS attempt JOIN task_instance AS instance ON instance.id = task_instance_id
            WHERE attempt.outcome = 'handed_back'
            """
        )
        again = Counter(int(one["task_id"][1:]) for one in back)
        assert all(executions[number] <= tries[number] + again[number] for number in executions)
        attempts = self.select("SELECT outcome FROM task_attempt WHERE outcome IS DISTINCT FROM 'handed_back'")
        assert sorted(one["outcome"] for one in attempts if one["outcome"] != "failed") == ["success"] * tasks
        lost = [one for one in attempts if one["outcome"] == "failed"]
        assert sum(tries.values()) == len(attempts) == tasks + len(lost)
        assert len(lost) <= kills * int(self.environment["TREADLE_PARALLELISM"])
        self.assert_history_is_lawful()

    def executions(self) -> dict[int, int]:
        """Return how often each task's code has run."""
        counted: dict[int, int] = {}
        for line in self.counts.read_text().split():
            counted[int(line)] = counted.get(int(line), 0) + 1
        return counted


def command_line(pid: int) -> str:
    """Return a process's command line, or nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


@contextmanager
def service(home: Path, database: Database, **environment: str) -> Iterator[Service]:
    """Yield a service; stop it, and see that no process of it is left."""
    one = Service(home, database, **environment)
    try:
        yield one
    finally:
        one.stop()
    wait_until(lambda: not processes_with(str(home)), 20)
