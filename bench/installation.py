"""A whole Treadle for a benchmark: ``treadle standalone`` on a home and a port of its own, ended with the block."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import processes
from bench.report import progress
from treadle_metadata import accounts, runs
from treadle_metadata import settings as settings_of
from treadle_metadata.connection import Database
from treadle_metadata.statements import rows

PASSWORD = "benchmark-only-password"


class Installation:
    """A started standalone: its processes, its database and its REST API."""

    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        self.home = home
        self.port = free_port()
        self.beside: list[int] = []
        """Pids of processes beside the standalone that belong to the installation."""
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TREADLE_")},
            "TREADLE_HOME": str(home),
            "TREADLE_DAGS_ARE_PAUSED_AT_CREATION": "false",
            **environment,
        }
        self._token = ""

    def start(self) -> float:
        """Start and return the seconds until every daemon is healthy."""
        began = time.perf_counter()
        command = [sys.executable, "-m", "treadle_cli", "standalone", "--port", str(self.port)]
        self.log = (self.home / "bench.log").open("ab")
        self.process = subprocess.Popen(command, env=self.environment, stdout=self.log, stderr=self.log)
        try:
            wait_for(self.is_healthy, 30)
        except TimeoutError as error:
            self.process.send_signal(signal.SIGINT)
            raise RuntimeError(f"not healthy: {(self.home / 'bench.log').read_text()[-2000:]}") from error
        seconds = time.perf_counter() - began
        self.database = Database(settings_of.load(self.environment).database_url, application_name="bench")
        return seconds

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        self.database.close()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        self.log.close()

    def is_healthy(self) -> bool:
        """Tell whether web server, scheduler and DAG processor say that they are well."""
        if self.process.poll() is not None:
            raise RuntimeError(f"standalone ended: {(self.home / 'bench.log').read_text()[-2000:]}")
        try:
            health = self.get("/api/v2/monitor/health", authorized=False)
        except (urllib.error.URLError, OSError):
            return False
        return all(health[name]["status"] == "healthy" for name in ("metadatabase", "scheduler", "dag_processor"))

    def pids(self) -> tuple[list[int], list[int]]:
        """Return (ours, PostgreSQL's) of the living processes."""
        return processes.split([pid for root in (self.process.pid, *self.beside) for pid in processes.tree(root)])

    def wait_for_dag(self, dag_id: str, seconds: float = 60) -> None:
        """Wait until a DAG is in the database."""
        wait_for(
            lambda: self.select("SELECT 1 FROM dag WHERE dag_id = %(dag_id)s AND is_active", dag_id=dag_id), seconds
        )

    def trigger(self, dag_id: str) -> int:
        """Make a run and return its number."""
        with self.database.begin() as connection:
            return int(runs.trigger_run(connection, dag_id, triggered_by="cli", now=datetime.now(UTC))["id"])

    def select(self, sql: Any, **parameters: Any) -> list[Mapping[str, Any]]:
        """Read from the database."""
        with self.database.begin() as connection:
            return list(rows(connection, sql, parameters))

    def wait_for_runs(self, count: int, seconds: float) -> None:
        """Wait until ``count`` runs have ended."""
        wait_for(
            lambda: (
                self.select("SELECT count(*) AS n FROM dag_run WHERE state IN ('success', 'failed')")[0]["n"] >= count
            ),
            seconds,
            interval=0.02,
        )
        failed = self.select("SELECT dag_id, run_id FROM dag_run WHERE state = 'failed'")
        if failed:
            raise RuntimeError(f"{len(failed)} runs failed, the first: {dict(failed[0])}")

    def get(self, path: str, *, authorized: bool = True) -> Any:
        """GET a path of the REST API."""
        return self._call("GET", path, None, authorized)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """POST to a path of the REST API."""
        return self._call("POST", path, body, True)

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None, authorized: bool) -> Any:
        headers = {"Content-Type": "application/json"}
        if authorized:
            headers["Authorization"] = f"Bearer {self._login()}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def _login(self) -> str:
        if not self._token:
            with self.database.begin() as connection:
                accounts.create_account(connection, "bench", PASSWORD, "Admin", now=datetime.now(UTC))
            body = json.dumps({"username": "bench", "password": PASSWORD}).encode()
            headers = {"Content-Type": "application/json"}
            request = urllib.request.Request(f"http://127.0.0.1:{self.port}/auth/token", body, headers)
            with urllib.request.urlopen(request, timeout=10) as answer:
                self._token = json.load(answer)["access_token"]
        return self._token


@contextmanager
def installed(dags: Mapping[str, str], **environment: str) -> Iterator[Installation]:
    """Start a standalone with these DAG files (name to source) on a temporary home; end it afterwards."""
    with tempfile.TemporaryDirectory(prefix="treadle-bench-") as folder:
        home = Path(folder)
        write_dags(home, dags)
        installation = Installation(home, environment)
        progress(f"started in {installation.start():.2f} s")
        try:
            yield installation
        finally:
            installation.stop()


def write_dags(home: Path, dags: Mapping[str, str]) -> None:
    """Write DAG files into a home's dags folder."""
    (home / "dags").mkdir(parents=True, exist_ok=True)
    for name, source in dags.items():
        (home / "dags" / f"{name}.py").write_text(source)


def wait_for(condition: Callable[[], object], seconds: float, interval: float = 0.005) -> None:
    """Wait until ``condition`` holds."""
    end = time.perf_counter() + seconds
    while not condition():
        if time.perf_counter() > end:
            raise TimeoutError(f"not reached within {seconds} s")
        time.sleep(interval)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
