"""``treadle kubernetes``: kept pods are cleaned up, and a DAG's pods can be looked at before they are made."""

from __future__ import annotations

import os
import subprocess
import sys

import yaml
from tests.support.kubernetes_homes import PodWorld, write_home
from tests.support.waiting import wait_until

from treadle_executors.conformance import make_workload


def treadle(world: PodWorld, *arguments: str) -> str:
    """Run a command and return what it printed."""
    environment = {**os.environ, "TREADLE_HOME": str(world.home), "TREADLE_EXECUTION_URL": world.server.url}
    command = [sys.executable, "-m", "treadle_cli", "kubernetes", *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def test_kept_pods_are_cleaned_up_and_running_ones_are_not(world: PodWorld) -> None:
    executor = world.start(delete_pods="never")
    kept, running = make_workload("quick"), make_workload("waiting")
    executor.queue([kept, running])
    world.execution.wait_for_finish(kept["attempt_id"])
    world.running_pod()
    wait_until(lambda: world.pods_in("Succeeded"))
    (pod,) = world.pods_in("Running")
    assert treadle(world, "cleanup-pods").split() == []
    (listed,) = treadle(world, "cleanup-pods", "--older-than", "0", "--dry-run").split()
    assert len(world.api.pods()) == 2
    wait_until(lambda: treadle(world, "cleanup-pods", "--older-than", "0").split() == [listed])
    assert [one["metadata"]["name"] for one in world.api.pods()] == [pod["metadata"]["name"]]


def test_the_pods_of_a_dag_are_printed_as_the_executor_would_make_them(world: PodWorld) -> None:
    write_home(world.home, world.api)
    printed = treadle(world, "generate-dag-yaml", "conformance", "--file", str(world.home / "dags" / "conformance.py"))
    pods = list(yaml.safe_load_all(printed))
    assert [one["metadata"]["annotations"]["treadle.dev/task-id"] for one in pods] == ["quick", "waiting", "failing"]
    assert {one["spec"]["containers"][0]["image"] for one in pods} == {"treadle:test"}
