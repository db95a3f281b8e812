"""The Celery executor against the tests that every executor passes: a real Redis, real workers, reports over HTTP."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest
from tests.support.execution_server import ExecutionServer, execution_server
from tests.support.redis_server import RedisServer
from tests.support.waiting import wait_until

from treadle_executors.celery.broker import Broker
from treadle_executors.celery.executor import CeleryExecutor
from treadle_executors.conformance import DAG_FILE, ExecutorConformance
from treadle_executors.executor import Executor
from treadle_executors.memory_execution import MemoryExecution
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload


class Unstarted:
    """In place of the database: what waits is kept until the Execution API has its start."""

    def __init__(self, execution: MemoryExecution) -> None:
        self._execution = execution

    def run(self, _act: object) -> Unstarted:
        """Answer whatever is asked with itself: the attempts that are still queued."""
        return self

    def __contains__(self, attempt_id: UUID) -> bool:
        with self._execution.changed:
            return all(one["attempt_id"] != str(attempt_id) for one in self._execution.starts)


class Machine:
    """A worker machine, its broker, and the server that it reports to."""

    def __init__(self, home: Path, redis: RedisServer, server: ExecutionServer) -> None:
        self.server = server
        self.redis = redis
        self.settings = Settings(
            home=home,
            broker_url=redis.url,
            execution_url=server.url,
            jwt_secret="for tests: a key of more than 32 characters",
            parallelism=2,
            terminate_grace_seconds=1.0,
            lease_renewal_seconds=0.2,
        )
        self.workers: list[subprocess.Popen[bytes]] = []

    def start_worker(self) -> None:
        """Start a worker and wait until it takes messages."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TREADLE_")}
        for name in ("home", "broker_url", "execution_url", "terminate_grace_seconds", "lease_renewal_seconds"):
            environment[f"TREADLE_{name.upper()}"] = str(getattr(self.settings, name))
        name = f"worker{len(self.workers)}@test"
        command = [sys.executable, "-m", "treadle_cli", "celery", "worker", "-c", "2", "-n", name]
        with (self.settings.home / "worker.log").open("ab") as log:
            self.workers.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        channels = self.redis.client
        wait_until(lambda: any(name.encode() in one for one in channels.smembers("_kombu.binding.celery.pidbox")), 30)

    def kill_workers(self) -> None:
        """Kill those that live."""
        for one in self.workers:
            one.kill()
            one.wait()

    @property
    def living(self) -> int:
        """How many workers live."""
        return sum(one.poll() is None for one in self.workers)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with one worker."""
    home = tmp_path_factory.mktemp("celery")
    redis = RedisServer(home)
    redis.start()
    with execution_server() as server:
        machine = Machine(home, redis, server)
        machine.start_worker()
        yield machine
        machine.kill_workers()
    redis.close()


class TestCeleryExecutor(ExecutorConformance):
    """Attempts below a worker process that lives on from test to test."""

    workers_outlive = True
    disorder = 1

    @pytest.fixture(autouse=True)
    def _machine(self, machine: Machine) -> None:
        self.machine = machine

    @pytest.fixture
    def settings(self, machine: Machine) -> Iterator[Settings]:
        """Settings whose home is empty but for the tests' DAG; what runs after the test is let go."""
        home, server = machine.settings.home, machine.server
        shutil.rmtree(home / "dags", ignore_errors=True)
        for path in (*home.glob("running-*"), home / "release", home / "told"):
            path.unlink(missing_ok=True)
        (home / "dags").mkdir()
        (home / "dags" / "conformance.py").write_text(DAG_FILE)
        if machine.living != 1:
            machine.kill_workers()
            machine.redis.client.flushall()
            machine.start_worker()
        yield machine.settings
        (home / "release").touch()
        execution = server.execution
        execution.unreachable = False
        if not self.has_killed:
            wait_until(lambda: execution.finishes.keys() >= self._running(execution), 20)
        machine.redis.client.delete("default")

    has_killed = False

    @staticmethod
    def _running(execution: MemoryExecution) -> set[str]:
        return {one["attempt_id"] for one in execution.starts} - execution.refused

    def make_executor(self, settings: Settings, execution: MemoryExecution) -> Executor:
        self.machine.server.execution = execution
        return CeleryExecutor(cast("Database", Unstarted(execution)), settings)

    def kill_workers(self, executor: Executor) -> None:  # noqa: ARG002
        self.has_killed = True
        self.machine.kill_workers()
        self.machine.start_worker()

    def make_room_for_callbacks(self) -> None:
        self.machine.start_worker()

    def deliver_again(self, executor: Executor, workload: Workload) -> None:  # noqa: ARG002
        broker = Broker(self.machine.settings)
        assert list(broker.publish([(workload, "a token")])) == [workload]
        broker.close()
