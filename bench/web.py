"""What the web server takes: pages over a long past, requests a second, and a thousand open streams of events.

``python -m bench web --part api``: 10,000 DAGs, 1,000,000 runs and 16,000,000 task instances at ``--scale 1``; one web
server process. With ``--home`` the database is kept in that folder, and loaded only the first time.
"""

from __future__ import annotations

import argparse
import asyncio
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
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from cryptography.fernet import Fernet

from bench import web_client, web_data
from bench.installation import PASSWORD, free_port, wait_for
from bench.report import progress, quantile, report
from treadle_metadata import accounts, embedded_postgres, migration
from treadle_metadata.connection import Database
from treadle_metadata.statements import execute

_DATABASE_PASSWORD = "benchmark-only"


@dataclass(frozen=True, slots=True)
class Served:
    """A web server over the loaded database."""

    port: int
    pid: int
    token: str
    database: Database


def main(options: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench web", description=__doc__)
    parser.add_argument("--part", choices=("api",), default="api")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--home", type=Path, help="keep the database here")
    parser.add_argument("--requests", type=int, default=200, help="requests of each kind")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10.0, help="time of the throughput")
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--changes", type=int, default=40, help="changes that the streams are told of")
    chosen = parser.parse_args(options)
    with _folder(chosen.home) as folder, _server(folder, web_data.Size(chosen.scale)) as served:
        figures = asyncio.run(_measure(served, chosen))
    report("web", {name: str(value) for name, value in vars(chosen).items() if name != "home"}, figures)


async def _measure(served: Served, chosen: argparse.Namespace) -> dict[str, float]:
    figures: dict[str, float] = {"idle_rss_mb": _rss_mb(served.pid)}
    for name, path in _questions(datetime.now(UTC)).items():
        found = await web_client.latencies(served.port, served.token, path, chosen.requests)
        figures[f"{name}_p50_ms"], figures[f"{name}_p95_ms"] = (quantile(found, at) * 1000 for at in (0.5, 0.95))
        progress(f"{name:24} p50 {figures[f'{name}_p50_ms']:7.1f} ms   p95 {figures[f'{name}_p95_ms']:7.1f} ms")
    rate = await web_client.throughput(
        served.port, served.token, "/api/v2/dags?limit=50", chosen.clients, chosen.seconds
    )
    progress(f"GET dags from {chosen.clients} clients: {rate:.0f} requests/s")
    figures["dags_per_s"] = rate
    return figures | await _streams(served, chosen)


def _questions(now: datetime) -> dict[str, str]:
    lately = quote((now - timedelta(hours=6)).isoformat())
    of_wide = f"/api/v2/dags/{web_data.WIDE}/dagRuns/run_1/taskInstances"
    return {
        "dags": "/api/v2/dags?limit=50",
        "runs": f"/api/v2/dags/{web_data.GRID}/dagRuns?limit=50",
        "instances": f"{of_wide}?limit=100",
        "running": "/api/v2/dags/~/dagRuns?state=running&limit=50",
        "failed_lately": f"/api/v2/dags/~/dagRuns?state=failed&end_date_gte={lately}&limit=50",
        "ui_grid": f"/ui/dags/{web_data.GRID}/grid?limit=25",
        "ui_dags": "/ui/dags?limit=50",
        "ui_home": "/ui/home",
        "ui_runs": "/ui/runs?limit=50",
        "ui_failed_lately": f"/ui/runs?state=failed&ended_since={lately}&limit=50",
        "ui_states": f"/ui/dags/{web_data.WIDE}/runs/run_1/states",
        "ui_gantt": f"/ui/dags/{web_data.WIDE}/runs/run_1/gantt",
        "ui_graph": f"/ui/dags/{web_data.WIDE}/graph",
        "ui_durations": f"/ui/dags/{web_data.GRID}/durations?runs=50",
    }


async def _streams(served: Served, chosen: argparse.Namespace) -> dict[str, float]:
    """Open the streams, change something again and again, and see when each stream tells of it."""
    connections = [web_client.Connection(served.port, served.token) for _ in range(chosen.streams)]
    heard: list[list[tuple[float, bytes]]] = [[] for _ in connections]
    following = []
    for one, into in zip(connections, heard, strict=True):
        await one.open()
        ready = asyncio.Event()
        following.append(asyncio.create_task(one.follow("/ui/events", ready, into)))
        await ready.wait()
    await asyncio.sleep(2)
    figures = {"streams_rss_mb": _rss_mb(served.pid)}
    changed = [await _change(served, number) for number in range(chosen.changes)]
    await asyncio.sleep(2)
    for one, task in zip(connections, following, strict=True):
        task.cancel()
        one.close()
    delays, missed = _delays(changed, heard)
    p95 = quantile(delays, 0.95) * 1000
    progress(f"{chosen.streams} streams: {figures['streams_rss_mb']:.0f} MB, p95 {p95:.0f} ms")
    return figures | {
        "event_p50_ms": quantile(delays, 0.5) * 1000,
        "event_p95_ms": p95,
        "events_missed": missed,
    }


async def _change(served: Served, number: int) -> tuple[float, bytes]:
    """Change the state of a run, and return when that was committed, and what its event holds."""
    run_id = f"run_{number + 1}"
    await asyncio.to_thread(_set_state, served.database, run_id)
    at = time.perf_counter()
    await asyncio.sleep(0.5)
    return at, f'"run_id":"{run_id}"'.encode()


def _set_state(database: Database, run_id: str) -> None:
    with database.begin() as connection:
        execute(
            connection,
            """
            UPDATE dag_run SET state = CASE WHEN state = 'queued' THEN 'running' ELSE 'queued' END, ended_at = NULL
            WHERE dag_id = %(dag)s AND run_id = %(run_id)s
            """,
            {"dag": web_data.GRID, "run_id": run_id},
        )


def _delays(changed: list[tuple[float, bytes]], heard: list[list[tuple[float, bytes]]]) -> tuple[list[float], int]:
    found, missed = [], 0
    for at, words in changed:
        for of_stream in heard:
            came = next((when for when, event in of_stream if words in event), None)
            if came is None:
                missed += 1
            else:
                found.append(came - at)
    return found, missed


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="treadle-bench-") as folder:
        yield Path(folder)


@contextmanager
def _server(folder: Path, size: web_data.Size) -> Iterator[Served]:
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
            wait_for(lambda: _answers(port), 60)
            yield Served(port, process.pid, _login(database, port), database)
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


def _login(database: Database, port: int) -> str:
    name = f"bench_{secrets.token_hex(4)}"
    with database.begin() as connection:
        accounts.create_account(connection, name, PASSWORD, "Admin", now=datetime.now(UTC))
    body = f'{{"username": "{name}", "password": "{PASSWORD}"}}'.encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/auth/token", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(json.load(answer)["access_token"])


def _rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1000
