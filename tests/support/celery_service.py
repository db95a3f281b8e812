"""An installation with worker machines: scheduler, web server, broker, and Celery workers without a database."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.rabbitmq_server import RabbitServer
from tests.support.redis_server import RedisServer, free_port
from tests.support.service import Service
from tests.support.waiting import wait_until

from treadle_metadata.connection import Database


class CeleryService(Service):
    """A service whose attempts run below Celery workers."""

    def __init__(self, home: Path, database: Database, broker: RedisServer | RabbitServer, **environment: str) -> None:
        self.broker = broker
        self.url = f"http://127.0.0.1:{free_port()}"
        own = {
            "TREADLE_EXECUTOR": "celery",
            "TREADLE_BROKER_URL": broker.url,
            "TREADLE_PORT": self.url.rpartition(":")[2],
            "TREADLE_EXECUTION_URL": self.url,
        }
        super().__init__(home, database, **(own | environment))
        self.web: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self.others: list[subprocess.Popen[bytes]] = []

    def start_web(self) -> None:
        """Start the web server and wait until it answers."""
        self.web = self._spawn("web.log", "webserver", "--apps", "execution")
        wait_until(self._web_answers, 30)

    def start_worker(self, *options: str) -> subprocess.Popen[bytes]:
        """Start a worker, which knows neither the database nor any key."""
        hidden = ("TREADLE_DATABASE_URL", "TREADLE_FERNET_KEY", "TREADLE_JWT_SECRET")
        name = f"worker{len(self.workers)}@test"
        worker = self._spawn("worker.log", "celery", "worker", "-n", name, *options, without=hidden)
        self.workers.append(worker)
        return worker

    def start_dag_processor(self) -> None:
        """Have the DAG files read."""
        self.others.append(self._spawn("dag_processor.log", "dag-processor"))

    def treadle(self, *command: str) -> str:
        """Run a command and return what it prints."""
        run = [sys.executable, "-m", "treadle_cli", *command]
        return subprocess.run(run, env=self.environment, capture_output=True, text=True, timeout=60, check=True).stdout

    def _spawn(self, log_name: str, *command: str, without: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        environment = {name: value for name, value in self.environment.items() if name not in without}
        with (self.home / log_name).open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "treadle_cli", *command], env=environment, stdout=log, stderr=log
            )

    def _web_answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/api/v2/monitor/health", timeout=5):
                return True
        except (urllib.error.URLError, ConnectionError):
            return False

    def stop_all(self) -> None:
        """End every process in order, then whatever is left."""
        self.stop()
        for process in (*self.workers, *self.others, self.web):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


@contextmanager
def celery_service(
    home: Path, database: Database, broker: RedisServer | RabbitServer | None = None, **environment: str
) -> Iterator[CeleryService]:
    """Yield an installation whose broker (or else a Redis) and web server run; the rest is the test's to start."""
    broker = broker or RedisServer(home)
    broker.start()
    try:
        one = CeleryService(home, database, broker, **environment)
        try:
            one.start_web()
            yield one
        finally:
            one.stop_all()
    finally:
        broker.close()
