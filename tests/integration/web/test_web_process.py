"""The web server as a process: it listens, answers without delay, holds its lease, and ends in order."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from tests.support.waiting import wait_until

from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import tuples
from treadle_webserver.main import CannotListenError, run

PROGRAM = "from treadle_metadata.settings import load; from treadle_webserver.main import run; run(load())"


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture
def server(database: Database, settings: Settings, free_port: int, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A web server on ``free_port``."""
    environment = os.environ | {
        "TREADLE_HOME": str(settings.home),
        "TREADLE_DATABASE_URL": database.url,
        "TREADLE_FERNET_KEY": settings.fernet_key,
        "TREADLE_JWT_SECRET": settings.jwt_secret,
        "TREADLE_PORT": str(free_port),
    }
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_it_answers_without_delay_and_ends_in_order(
    server: subprocess.Popen[bytes], database: Database, free_port: int
) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{free_port}") as client:

        def up() -> bool:
            try:
                return client.get("/api/v2/version").status_code == 200
            except httpx.TransportError:
                return False

        wait_until(up, 30)
        seconds = []
        for _ in range(20):
            start = time.perf_counter()
            answer = client.get("/api/v2/monitor/health")
            seconds.append(time.perf_counter() - start)
        assert answer.json()["metadatabase"]["status"] == "healthy"
        assert "server" not in answer.headers
        # Without TCP_NODELAY not one is faster than the 40 ms of a delayed acknowledgement.
        assert min(seconds) < 0.03
    with database.begin() as connection:
        assert tuples(connection, "SELECT kind, stopped_at IS NULL FROM process") == [("webserver", True)]
    server.send_signal(signal.SIGTERM)
    assert server.wait(10) == 0
    with database.begin() as connection:
        assert tuples(connection, "SELECT kind, stopped_at IS NULL FROM process") == [("webserver", False)]


def test_an_address_in_use_is_one_clear_sentence(settings: Settings, free_port: int) -> None:
    with (
        socket.create_server(("127.0.0.1", free_port)),
        pytest.raises(CannotListenError, match=f"cannot listen on 127.0.0.1 port {free_port}: Address already in use"),
    ):
        run(replace(settings, port=free_port))
