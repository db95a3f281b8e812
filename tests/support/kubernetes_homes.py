"""Homes of installations whose attempts run in the test cluster's pods."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from tests.support.execution_over_http import ExecutionServer, execution_server
from tests.support.kubernetes_api.server import KubernetesApi, kubernetes_api
from tests.support.kubernetes_api.store import Json
from tests.support.waiting import wait_until

from treadle_executors.conformance import DAG_FILE
from treadle_executors.executor import ExecutorEvent
from treadle_executors.kubernetes.executor import KubernetesExecutor
from treadle_executors.memory_execution import MemoryExecution
from treadle_metadata.connection import Database
from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.settings import Settings

TEMPLATE = """
apiVersion: v1
kind: Pod
spec:
  containers:
    - name: base
      image: treadle:test
      command: ["treadle", "task", "run"]
      env:
        - name: TREADLE_HOME
          value: {home}
      volumeMounts:
        - name: tmp
          mountPath: /tmp
  volumes:
    - name: tmp
      emptyDir: {{}}
"""


def write_home(home: Path, api: KubernetesApi, **options: Any) -> None:
    """Write what the executor reads: a kubeconfig, a pod template and the options."""
    api.write_kubeconfig(home / "kubeconfig")
    (home / "pod.yaml").write_text(TEMPLATE.format(home=home))
    content = {
        "kubeconfig": str(home / "kubeconfig"),
        "pod_template": "pod.yaml",
        "first_pause_seconds": 0.05,
        **options,
    }
    lines = [f"{name} = {_toml(value)}" for name, value in content.items()]
    (home / "kubernetes.toml").write_text("\n".join(lines) + "\n")


def _toml(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


class MemoryLeases:
    """Leases of attempts that report to an Execution API in memory: queued until their start is reported."""

    def __init__(self, execution: MemoryExecution) -> None:
        self.execution = execution
        self.kept: list[UUID] = []

    def keep(self, of_tasks: Sequence[AttemptRef], of_callbacks: Sequence[AttemptRef]) -> set[UUID]:
        """Return those that have not started."""
        with self.execution.changed:
            over = {UUID(one["attempt_id"]) for one in self.execution.starts} | {
                UUID(one) for one in self.execution.finishes
            }
        kept = {one.attempt_id for one in (*of_tasks, *of_callbacks)} - over
        self.kept += kept
        return kept


class PodWorld:
    """A cluster, a server in memory that its pods report to, and executors of one home."""

    def __init__(self, home: Path, api: KubernetesApi, server: ExecutionServer) -> None:
        self.home = home
        self.api = api
        self.server = server
        self.execution = server.execution
        self.leases = MemoryLeases(server.execution)
        self.woken = threading.Semaphore(0)
        self.executors: list[KubernetesExecutor] = []
        self.settings = Settings(
            home=home,
            parallelism=10,
            terminate_grace_seconds=0.5,
            lease_seconds=3.0,
            lease_renewal_seconds=0.1,
            execution_url=server.url,
            jwt_secret="a secret for tests of 32 characters",
        )

    def start(self, **options: Any) -> KubernetesExecutor:
        """Start an executor with these options."""
        write_home(self.home, self.api, **options)
        executor = KubernetesExecutor(cast("Database", None), self.settings, leases=self.leases)
        executor.start(self.woken.release)
        self.executors.append(executor)
        return executor

    def event(self, executor: KubernetesExecutor) -> ExecutorEvent:
        """Wait for the only event of an executor."""
        (event,) = wait_until(executor.events, 20)
        return event

    def running_pod(self, count: int = 1) -> str:
        """Wait until the code of ``count`` tasks runs; return the name of a pod that runs."""
        wait_until(lambda: len(list(self.home.glob("running-*"))) >= count, 20)
        return str(self.pods_in("Running")[0]["metadata"]["name"])

    def pods_in(self, phase: str) -> list[Json]:
        """Return the pods in a phase."""
        return [one for one in self.api.pods() if one["status"]["phase"] == phase]

    def close(self) -> None:
        """End the executors."""
        for one in self.executors:
            one.end()


@contextmanager
def pod_world(home: Path) -> Iterator[PodWorld]:
    """Yield a world with the DAG of the conformance suite."""
    (home / "dags").mkdir()
    (home / "dags" / "conformance.py").write_text(DAG_FILE)
    with kubernetes_api() as api, execution_server(MemoryExecution()) as server:
        world = PodWorld(home, api, server)
        try:
            yield world
        finally:
            world.close()
