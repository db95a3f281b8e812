"""The compose file's own commands, run as plain processes until a run has succeeded (issue 4, part 7).

No container engine runs here: PostgreSQL and Redis are this machine's, host names and folders are put in their place.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import FERNET_KEY, JWT_SECRET
from tests.support.compose_file import ComposeService, compose_services
from tests.support.redis_server import RedisServer, free_port
from tests.support.waiting import wait_until

from treadle_metadata.connection import Database
from treadle_metadata.statements import rows

VARIABLES = {
    "POSTGRES_PASSWORD": "a-password",
    "TREADLE_FERNET_KEY": FERNET_KEY,
    "TREADLE_JWT_SECRET": JWT_SECRET,
}
SOURCE = """
from datetime import timedelta

from treadle import DAG, task
from treadle.sensors import TimeDeltaSensor

with DAG("composed", schedule=None):

    @task
    def one():
        return 1

    @task
    def two(number):
        return number + 1

    two(one()) >> TimeDeltaSensor(task_id="later", delta=timedelta(seconds=1), deferrable=True)
"""


class Machine:
    """Runs the services of the compose file on this machine."""

    def __init__(self, home: Path, database_url: str, redis: RedisServer) -> None:
        self.home = home
        self.port = free_port()
        self.placed = {
            "TREADLE_DATABASE_URL": ("@postgres/", database_url),
            "TREADLE_BROKER_URL": ("redis://redis:6379/", redis.url),
            "TREADLE_EXECUTION_URL": ("http://webserver:8080", f"http://127.0.0.1:{self.port}"),
            "TREADLE_HOST": ("0.0.0.0", "127.0.0.1"),
            "TREADLE_PORT": ("8080", str(self.port)),
        }
        self.processes: list[subprocess.Popen[bytes]] = []

    def environment(self, service: ComposeService) -> dict[str, str]:
        """Return a service's environment with hosts and ports of this machine, and nothing else of Treadle's."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("TREADLE_")}
        for name, value in service.environment.items():
            written, here = self.placed.get(name, ("", value))
            assert written in value, (name, value)
            own[name] = here
        return own | {"TREADLE_HOME": str(self.home)}

    def start(self, service: ComposeService) -> None:
        """Start a service as often as it is to run; one that others wait for to complete is waited for."""
        for _ in range(service.replicas):
            with (self.home / f"{service.name}.log").open("ab") as log:
                command = [sys.executable, "-m", "treadle_cli", *service.command]
                process = subprocess.Popen(command, env=self.environment(service), stdout=log, stderr=log)
            self.processes.append(process)

    def treadle(self, service: ComposeService, *command: str) -> None:
        """Run a command in the environment of a service."""
        run = [sys.executable, "-m", "treadle_cli", *command]
        subprocess.run(run, env=self.environment(service), check=True, capture_output=True, timeout=60)

    def answers(self) -> bool:
        """Tell whether the web server is healthy by the compose file's own question."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v2/monitor/health", timeout=5):
                return True
        except (urllib.error.URLError, ConnectionError):
            return False

    def has_triggerer(self) -> bool:
        """Tell whether the web server has heard from the triggerer, as its health check in the compose file does."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v2/monitor/health", timeout=5) as answer:
            return bool(json.load(answer)["triggerer"]["status"] == "healthy")

    def stop(self) -> None:
        """End what runs."""
        for one in reversed(self.processes):
            if one.poll() is None:
                one.send_signal(signal.SIGTERM)
        for one in self.processes:
            one.wait(30)


@pytest.fixture
def machine(home: Path, own_database: Database) -> Iterator[Machine]:
    """A machine with an empty database and a Redis."""
    with own_database.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    redis = RedisServer(home)
    redis.start()
    machine = Machine(home, own_database.url, redis)
    try:
        yield machine
    finally:
        machine.stop()
        redis.close()


def test_every_service_that_goes_on_has_a_health_check() -> None:
    services = compose_services(VARIABLES)
    assert {one.name for one in services.values() if not one.health_check} == {"migrate"}
    assert services["scheduler"].replicas == 2


def test_workers_are_given_no_access_to_the_database_and_no_key() -> None:
    given = compose_services(VARIABLES)["worker"].environment
    assert set(given) == {"TREADLE_BROKER_URL", "TREADLE_EXECUTION_URL"}


def test_a_triggerer_is_given_no_access_to_the_database() -> None:
    given = compose_services(VARIABLES)["triggerer"].environment
    assert set(given) == {"TREADLE_JWT_SECRET", "TREADLE_EXECUTION_URL"}


def test_the_commands_of_the_compose_file_bring_a_run_to_success(machine: Machine, own_database: Database) -> None:
    (machine.home / "dags" / "composed.py").write_text(SOURCE)
    services = compose_services(VARIABLES)
    ours = [one for one in services.values() if one.image == "treadle"]
    for service in ours:
        if "webserver" in service.after:
            wait_until(machine.answers, 40)
        machine.start(service)
        if service.name == "migrate":
            assert machine.processes[-1].wait(60) == 0
    scheduler = services["scheduler"]

    def found(sql: str) -> bool:
        with own_database.begin() as connection:
            return bool(rows(connection, sql, {}))

    wait_until(lambda: found("SELECT 1 FROM dag WHERE dag_id = 'composed' AND is_active"), 60)
    machine.treadle(scheduler, "dags", "unpause", "composed")
    machine.treadle(scheduler, "dags", "trigger", "composed")
    wait_until(lambda: found("SELECT 1 FROM dag_run WHERE state = 'success'"), 60)
    wait_until(machine.has_triggerer, 40)
    assert all(one.poll() is None for one in machine.processes[1:]), "a service has ended"
    for service in ours:
        if service.health_check[:1] == ["treadle"]:
            machine.treadle(service, *service.health_check[1:])
