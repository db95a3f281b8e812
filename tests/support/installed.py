"""A whole installation for end-to-end tests: ``treadle standalone`` on a home of its own, its API and command line.

Everything that it starts is counted at its end: a process that outlives it fails the test that owns it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from bench import processes
from bench.installation import PASSWORD, Installation
from tests.support.processes import processes_with
from tests.support.waiting import wait_until

from treadle_metadata import accounts
from treadle_metadata.clock import SystemClock

ENDED = ("success", "failed")
SETTINGS = {
    "TREADLE_PARALLELISM": "8",
    "TREADLE_PARSE_TIMEOUT_SECONDS": "5",
    "TREADLE_PARSE_MEMORY_MB": "512",
    "TREADLE_TERMINATE_GRACE_SECONDS": "0.5",
    "TREADLE_LEASE_RENEWAL_SECONDS": "1",
    "TREADLE_RECORD_TRANSITIONS": "true",
}

BYSTANDER = """
from treadle import DAG, task

with DAG("bystander"):

    @task
    def make():
        return [1, 2, 3]

    @task
    def add(numbers):
        return sum(numbers)

    add(make())
"""


class Installed(Installation):
    """A started standalone, as a person at a terminal or a program with a token uses it."""

    def add(self, file: str, source: str) -> None:
        """Write a DAG file in one step, as editors do."""
        path = self.home / "dags" / file
        unfinished = path.with_name(f".{file}.new")
        unfinished.write_text(source)
        unfinished.replace(path)

    def run_command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a ``treadle`` command as a program of its own."""
        command = [sys.executable, "-m", "treadle_cli", *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """Yield a logged-in client of the REST API."""
        with self.database.begin() as connection:
            accounts.create_account(connection, "tester", PASSWORD, "Admin", now=SystemClock().now())
        with httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30, trust_env=False) as client:
            answer = client.post("/auth/token", json={"username": "tester", "password": PASSWORD})
            client.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"
            yield client

    def run_of(self, dag_id: str) -> str:
        """Trigger a run of a DAG, once it is there, and return its run id."""
        try:
            self.wait_for_dag(dag_id, 20)
        except TimeoutError:
            errors = self.select("SELECT file, message FROM import_error ORDER BY occurred_at DESC LIMIT 3")
            raise AssertionError(f"no DAG {dag_id}; the newest errors: {errors}") from None
        number = self.trigger(dag_id)
        return str(self.select("SELECT run_id FROM dag_run WHERE id = %(number)s", number=number)[0]["run_id"])

    def state(self, dag_id: str, run_id: str) -> str:
        """Return a run's state."""
        found = self.select(
            "SELECT state FROM dag_run WHERE dag_id = %(dag_id)s AND run_id = %(run_id)s", dag_id=dag_id, run_id=run_id
        )
        return str(found[0]["state"])

    def end_of(self, dag_id: str, run_id: str, seconds: float = 60) -> str:
        """Wait until a run has ended and return its state."""
        wait_until(lambda: self.state(dag_id, run_id) in ENDED, seconds)
        return self.state(dag_id, run_id)

    def attempts(self, dag_id: str) -> dict[str, list[Mapping[str, Any]]]:
        """Return the attempts of a DAG's tasks by task, the oldest first."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for row in self.select(
            """
            SELECT ti.task_id, ti.state, a.* FROM task_attempt a JOIN task_instance ti ON ti.id = a.task_instance_id
            WHERE ti.dag_id = %(dag_id)s ORDER BY a.queued_at
            """,
            dag_id=dag_id,
        ):
            found.setdefault(str(row["task_id"]), []).append(row)
        return found

    def succeeds(self, dag_id: str = "bystander") -> None:
        """Run a DAG that nothing may harm, and see it end well."""
        assert self.end_of(dag_id, self.run_of(dag_id)) == "success"

    def leftovers(self) -> Sequence[str]:
        """Return the command lines of processes that hold the home's name but are none of the installation's own."""
        own = {self.process.pid, *processes.tree(self.process.pid)}
        return [line for pid, line in processes_with(str(self.home)).items() if pid not in own and pid != os.getpid()]


def run_path(dag_id: str, run_id: str) -> str:
    """Return the REST path of a run."""
    return f"/api/v2/dags/{quote(dag_id, safe='')}/dagRuns/{quote(run_id, safe='')}"


def is_alive(pid: int) -> bool:
    """Tell whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def installation(home: Path, dags: Mapping[str, str], **environment: str) -> Iterator[Installed]:
    """Start a standalone with these DAG files; stop it as Ctrl-C does and see that no process of it is left."""
    (home / "dags").mkdir(parents=True, exist_ok=True)
    one = Installed(home, SETTINGS | environment)
    for name, source in dags.items():
        one.add(name, source)
    one.start()
    try:
        yield one
    finally:
        below = processes.tree(one.process.pid)
        one.stop()
    assert one.process.returncode == 0, (home / "bench.log").read_text()[-2000:]
    assert not [pid for pid in below if is_alive(pid)]
    wait_until(lambda: not processes_with(str(home)))
