"""Homes of installations whose attempts run in the test cluster's pods."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.support.kubernetes_api.server import KubernetesApi

from treadle_executors.memory_execution import MemoryExecution
from treadle_metadata.identifiers import AttemptRef

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
