"""A web server over a loaded database, for ``bench web``: PostgreSQL and one server process, ended with the block."""

from __future__ import annotations

import json
import os
import resource
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography.fernet import Fernet

from bench import web_data
from bench.installation import PASSWORD, free_port, wait_for
from bench.report import progress
from treadle_metadata import accounts, embedded_postgres, migration
from treadle_metadata.connection import Database

_DATABASE_PASSWORD = "benchmark-only"


@dataclass(frozen=True, slots=True)
class Served:
    """A web server over the loaded database, and an account of an administrator (``PASSWORD`` is its password)."""

    port: int
    pid: int
    username: str
    token: str
    database: Database


@contextmanager
def kept_folder(kept: Path | None) -> Iterator[Path]:
    """Yield ``kept``, or a folder that is gone afterwards."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="treadle-bench-") as folder:
        yield Path(folder)


@contextmanager
def serving(folder: Path, size: web_data.Size) -> Iterator[Served]:
    """Start PostgreSQL and a web server, with the data loaded."""
    _allow_many_files()
    with embedded_postgres.EmbeddedPostgres(folder / "postgres", _DATABASE_PASSWORD) as postgres:
        migration.migrate(postgres.url(), datetime.now(UTC))
        database = Database(postgres.url(), application_name="bench")
        began = time.perf_counter()
        web_data.load(database, size, datetime.now(UTC))
        progress(f"loaded in {time.perf_counter() - began:.0f} s")
        port = free_port()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TREADLE_")} | {
            "TREADLE_HOME": str(folder),
            "TREADLE_DATABASE_URL": postgres.url(),
            "TREADLE_FERNET_KEY": Fernet.generate_key().decode(),
            "TREADLE_JWT_SECRET": secrets.token_urlsafe(40),
        }
        command = [sys.executable, "-m", "treadle_cli", "webserver", "--port", str(port)]
        with (folder / "web.log").open("ab") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            wait_for(lambda: _answers(port), 180)
            yield Served(port, process.pid, *_login(database, port), database)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
            database.close()


def _allow_many_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/version", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _login(database: Database, port: int) -> tuple[str, str]:
    name = f"bench_{secrets.token_hex(4)}"
    with database.begin() as connection:
        accounts.create_account(connection, name, PASSWORD, "Admin", now=datetime.now(UTC))
    body = f'{{"username": "{name}", "password": "{PASSWORD}"}}'.encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/auth/token", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return name, str(json.load(answer)["access_token"])


def rss_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1000
