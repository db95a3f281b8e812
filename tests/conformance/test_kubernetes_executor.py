"""The Kubernetes executor against the tests that every executor passes: pods that are processes, HTTP on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest
from tests.support.execution_over_http import execution_server
from tests.support.kubernetes_api.server import KubernetesApi, kubernetes_api
from tests.support.kubernetes_homes import MemoryLeases, write_home
from tests.support.waiting import wait_until

from treadle_executors.conformance import ExecutorConformance, make_workload
from treadle_executors.executor import Executor
from treadle_executors.kubernetes.executor import KubernetesExecutor
from treadle_executors.memory_execution import MemoryExecution
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings


class TestKubernetesExecutor(ExecutorConformance):
    """Attempts in pods of a cluster of the test's own."""

    # Two pods start when the machine has time for them.
    disorder = 2

    @pytest.fixture(autouse=True)
    def api(self) -> Iterator[KubernetesApi]:
        with kubernetes_api() as self.cluster:
            yield self.cluster

    @pytest.fixture
    def settings(self, tmp_path: Path, execution: MemoryExecution, api: KubernetesApi) -> Iterator[Settings]:
        made = ExecutorConformance.settings.__wrapped__(self, tmp_path)  # type: ignore[attr-defined]
        write_home(tmp_path, api)
        with execution_server(execution) as server:
            yield replace(made, execution_url=server.url, jwt_secret="a secret for tests of 32 characters")

    def make_executor(self, settings: Settings, execution: MemoryExecution) -> Executor:
        return KubernetesExecutor(cast("Database", None), settings, leases=MemoryLeases(execution))

    def kill_workers(self, executor: Executor) -> None:
        assert isinstance(executor, KubernetesExecutor)
        for pod in self.cluster.pods():
            self.cluster.kill(pod["metadata"]["name"])

    def test_what_runs_is_another_executors_to_end_after_a_restart(
        self, settings: Settings, execution: MemoryExecution
    ) -> None:
        # Pods outlive their executor, and unlike other remote workers' attempts they are held by whichever runs.
        self.workers_outlive = True
        super().test_what_runs_is_another_executors_to_end_after_a_restart(settings, execution)

    def test_ending_with_work_in_flight_hands_it_back_and_starts_nothing_more(
        self, settings: Settings, execution: MemoryExecution
    ) -> None:
        """Pods go on by themselves: only what has none is handed back, and another executor takes up the rest."""
        first = self.make_executor(settings, execution)
        first.start(lambda: None)
        workloads = [make_workload("waiting") for _ in range(3)]
        ids = [UUID(one["attempt_id"]) for one in workloads]
        first.queue(workloads)
        self.wait_until_running(settings, first.slots)
        first.end()
        assert [(one.kind, one.attempt_id) for one in first.events()] == [("handed_back", ids[2])]
        second = self.make_executor(settings, execution)
        second.start(lambda: None)
        try:
            wait_until(lambda: second.adopt(ids) == set(ids[:2]))
            (settings.home / "release").touch()
            assert {execution.wait_for_finish(str(one))["outcome"] for one in ids[:2]} == {"success"}
            wait_until(lambda: not self.cluster.pods())
            assert second.events() == []
        finally:
            second.end()
