"""What the cluster does to a pod is told apart in the error of its attempt (cases C6 and C10)."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from tests.support.kubernetes_homes import PodWorld
from tests.support.waiting import wait_until

from treadle_executors.conformance import make_workload


def override(**spec: Any) -> dict[str, Any]:
    """Return an executor_config with a pod_override."""
    return {"pod_override": {"spec": spec}}


@pytest.mark.parametrize(
    ("config", "word"),
    [
        (override(containers=[{"name": "base", "image": "missing:1"}]), "ImagePullBackOff: Back-off pulling image"),
        (override(nodeSelector={"gpu": "yes"}), "Unschedulable: 0/1 nodes are available"),
    ],
)
def test_a_pod_that_is_pending_for_too_long_fails_with_the_cluster_s_reason_and_is_deleted(
    world: PodWorld, config: dict[str, Any], word: str
) -> None:
    """Case C10."""
    executor = world.start(pending_seconds=0.3, delete_pods="never")
    workload = make_workload("quick", executor_config=config)
    executor.queue([workload])
    event = world.event(executor)
    assert (event.kind, event.attempt_id) == ("rejected", UUID(workload["attempt_id"]))
    assert word in event.reason
    wait_until(lambda: not world.api.pods())
    assert executor.events() == []


def test_a_container_killed_for_its_memory_says_so_and_its_log_is_there(world: PodWorld) -> None:
    """Case C6: the reason, and the log up to the kill, with what had not been sent."""
    (world.home / "dags" / "conformance.py").write_text(TALKING)
    executor = world.start()
    workload = make_workload("waiting")
    executor.queue([workload])
    name = world.running_pod()
    log: dict[str, bytes] = world.server.logs
    wait_until(lambda: b"allocating" in log.get(workload["attempt_id"], b""))
    world.server.keeps_logs = False
    (world.home / "go-on").touch()
    wait_until(lambda: b"the last line" in world.api.output(name))
    world.api.kill(name, "OOMKilled")
    world.server.keeps_logs = True
    event = world.event(executor)
    assert event.reason == "OOMKilled: the container used more memory than its limit and was killed"
    wait_until(lambda: b"the last line" in log[workload["attempt_id"]])
    assert all(isinstance(json.loads(line), dict) for line in log[workload["attempt_id"]].splitlines())
    assert log[workload["attempt_id"]].count(b"allocating") == 1


TALKING = """
import pathlib, time
from treadle import DAG, task

with DAG("conformance"):
    @task
    def waiting():
        print("allocating")
        home = pathlib.Path(__file__).parent.parent
        home.joinpath("running-1").touch()
        while not home.joinpath("go-on").exists():
            time.sleep(0.02)
        print("the last line")
        time.sleep(60)
    waiting()
"""


def test_a_task_killed_for_memory_inside_a_pod_that_lives_reports_it_with_its_peak(world: PodWorld) -> None:
    """Case C6: the kernel may kill the task's process alone."""
    dag = TALKING.replace("time.sleep(60)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    (world.home / "dags" / "conformance.py").write_text(dag)
    (world.home / "go-on").touch()
    executor = world.start()
    workload = make_workload("waiting")
    executor.queue([workload])
    error = world.execution.wait_for_finish(workload["attempt_id"])["error"]
    assert error is not None
    assert error["kind"] == "out_of_memory"
    assert "probably out of memory; peak RSS" in error["message"]


def test_an_evicted_pod_is_lost_with_the_node_s_reason(world: PodWorld) -> None:
    executor = world.start()
    executor.queue([make_workload("waiting")])
    name = world.running_pod()
    world.api.call(lambda: world.api.kubelet.evict(name))
    event = world.event(executor)
    assert event.kind == "lost"
    assert event.reason.startswith("Evicted: The node was low on resource: memory.")


def test_a_pod_over_its_deadline_says_so_although_its_process_would_report_something_else(world: PodWorld) -> None:
    executor = world.start()
    workload = make_workload("waiting", executor_config=override(activeDeadlineSeconds=2))
    executor.queue([workload])
    event = world.event(executor)
    assert event.kind == "rejected"
    assert event.reason.startswith("DeadlineExceeded: ")
    assert workload["attempt_id"] not in world.execution.finishes


def test_a_pod_whose_command_cannot_be_run_fails_its_attempt_with_its_last_words(world: PodWorld) -> None:
    executor = world.start()
    template = (world.home / "pod.yaml").read_text()
    executor.end()
    world.executors.remove(executor)
    write = template.replace('["treadle", "task", "run"]', '["sh", "-c", "echo no such thing; exit 3"]')
    executor = world.start()
    (world.home / "pod.yaml").write_text(write)
    executor.end()
    world.executors.remove(executor)
    other = type(executor)(executor.database, world.settings, leases=world.leases)
    other.start(world.woken.release)
    world.executors.append(other)
    other.queue([make_workload("quick")])
    event = world.event(other)
    assert event.kind == "rejected"
    assert "exit code 3" in event.reason
    assert "its last words: no such thing" in event.reason


def test_a_pod_that_a_person_deletes_reports_that_it_was_stopped(world: PodWorld) -> None:
    executor = world.start()
    workload = make_workload("waiting")
    executor.queue([workload])
    name = world.running_pod()
    world.api.call(lambda: world.api._delete("pods", name, {}))
    error = world.execution.wait_for_finish(workload["attempt_id"])["error"]
    assert error is not None
    assert error["kind"] == "terminated"
    assert "its pod was told to stop" in error["message"]
    wait_until(lambda: not world.api.pods())
    assert executor.events() == []
