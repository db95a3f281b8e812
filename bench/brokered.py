"""A whole Treadle whose attempts go by way of Celery: a Redis, ``treadle standalone``, and one Celery worker.

Part of ``throughput``. The worker has neither the database nor a key, as on a machine of its own; all ends with the
block.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.installation import Installation, free_port, installed, wait_for

HIDDEN = ("TREADLE_DATABASE_URL", "TREADLE_FERNET_KEY", "TREADLE_JWT_SECRET")


@contextmanager
def brokered(dags: Mapping[str, str], concurrency: int, **environment: str) -> Iterator[Installation]:
    """Start Redis, a standalone with these DAG files, and a worker of ``concurrency`` attempts."""
    with (
        redis() as (url, redis_pid),
        installed(dags, TREADLE_EXECUTOR="celery", TREADLE_BROKER_URL=url, **environment) as installation,
        worker(installation, concurrency) as worker_pid,
    ):
        installation.beside = [redis_pid, worker_pid]
        yield installation


@contextmanager
def redis() -> Iterator[tuple[str, int]]:
    """Start a Redis on a free port; yield its address and its pid."""
    program = shutil.which("redis-server")
    if program is None:
        raise RuntimeError("this benchmark needs redis-server (Debian package redis-server)")
    port = free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    with tempfile.TemporaryDirectory(prefix="treadle-bench-redis-") as folder:
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
        try:
            wait_for(lambda: _listens(port), 20)
            yield f"redis://127.0.0.1:{port}/0", server.pid
        finally:
            server.kill()
            server.wait()


@contextmanager
def database_worker(installation: Installation, concurrency: int) -> Iterator[int]:
    """Start a worker of the executor transactional on the installation's database; yield its pid."""
    environment = installation.environment | {"TREADLE_DATABASE_URL": installation.database.url}
    with _worker(installation, ["worker"], concurrency, environment) as pid:
        yield pid


@contextmanager
def worker(installation: Installation, concurrency: int) -> Iterator[int]:
    """Start a worker of the installation; yield its pid."""
    environment = {name: value for name, value in installation.environment.items() if name not in HIDDEN}
    environment["TREADLE_EXECUTION_URL"] = f"http://127.0.0.1:{installation.port}"
    with _worker(installation, ["celery", "worker"], concurrency, environment) as pid:
        yield pid


@contextmanager
def _worker(
    installation: Installation, words: list[str], concurrency: int, environment: Mapping[str, str]
) -> Iterator[int]:
    command = [sys.executable, "-m", "treadle_cli", *words, "--concurrency", str(concurrency)]
    path: Path = installation.home / "worker.log"
    with path.open("ab") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        wait_for(lambda: "started" in path.read_text(), 30)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
