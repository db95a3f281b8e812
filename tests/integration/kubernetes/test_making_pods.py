"""Pods are made as fast as the cluster takes them, and no faster (case C12); what they hold."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from tests.support.kubernetes_api.server import Fault
from tests.support.kubernetes_homes import PodWorld
from tests.support.waiting import wait_until

from treadle_executors.conformance import make_workload


def test_ten_tasks_under_a_quota_of_three_pods_all_succeed_with_few_tries(world: PodWorld) -> None:
    """Case C12: they stay queued, and the cluster is not hammered."""
    world.api.quota_pods = 3
    executor = world.start()
    workloads = [make_workload("quick") for _ in range(10)]
    executor.queue(workloads)
    for workload in workloads:
        assert world.execution.wait_for_finish(workload["attempt_id"], 40)["outcome"] == "success"
    assert world.api.counts["POST pods"] <= 60
    assert executor.events() == []
    wait_until(lambda: executor.troubles() == [])


def test_a_server_under_load_is_left_alone_for_as_long_as_it_asks(world: PodWorld) -> None:
    world.api.faults.append(Fault("POST", "pods", 429, "TooManyRequests", "slow down", times=1, retry_after=1))
    executor = world.start()
    workload = make_workload("quick")
    executor.queue([workload])
    (trouble,) = wait_until(executor.troubles)
    assert "429" in trouble.sentence
    assert world.execution.wait_for_finish(workload["attempt_id"])["outcome"] == "success"
    assert world.api.counts["POST pods"] == 2
    assert UUID(workload["attempt_id"]) in world.leases.kept, "its lease was not renewed while it waited"


def test_the_number_of_tries_can_be_limited(world: PodWorld) -> None:
    world.api.quota_pods = 0
    executor = world.start(most_creates=3)
    executor.queue([make_workload("quick")])
    event = world.event(executor)
    assert event.kind == "rejected"
    assert "after 3 tries" in event.reason
    assert "exceeded quota" in event.reason
    assert world.api.counts["POST pods"] == 3


def test_a_missing_permission_is_told_and_waited_for(world: PodWorld) -> None:
    message = 'pods is forbidden: User "system:serviceaccount:a:b" cannot create resource "pods"'
    world.api.faults.append(Fault("POST", "pods", 403, "Forbidden", message, times=1))
    executor = world.start(first_pause_seconds=0.5)
    workload = make_workload("quick")
    executor.queue([workload])
    (trouble,) = wait_until(executor.troubles)
    assert "cannot create resource" in trouble.sentence
    assert world.execution.wait_for_finish(workload["attempt_id"])["outcome"] == "success"
    assert executor.events() == []


def test_a_pod_that_the_cluster_calls_invalid_fails_its_attempt_with_its_words(world: PodWorld) -> None:
    executor = world.start()
    world.api.faults.append(Fault("POST", "pods", 422, "Invalid", "spec.priorityClassName: no such class", times=1))
    executor.queue([make_workload("quick")])
    event = world.event(executor)
    assert event.kind == "rejected"
    assert "no such class" in event.reason


def test_an_answer_that_was_lost_makes_no_second_pod(world: PodWorld) -> None:
    """The secret's request fails after the pod was made: the pod is found, and completed."""
    world.api.faults.append(Fault("POST", "secrets", 500, "InternalError", "etcd", times=1))
    executor = world.start()
    workload = make_workload("quick")
    executor.queue([workload])
    assert world.execution.wait_for_finish(workload["attempt_id"])["outcome"] == "success"
    assert world.api.counts["POST pods"] == 2
    assert len(world.execution.starts) == 1


def test_the_token_is_in_a_secret_that_the_pod_owns_and_goes_with_it(world: PodWorld) -> None:
    executor = world.start()
    executor.queue([make_workload("waiting")])
    name = world.running_pod()
    (pod,) = world.api.pods()
    (secret,) = world.api.secrets()
    token = executor._token_of(next(iter(executor._book._held.values())).ref)
    assert token.split(".")[0] not in json.dumps(pod)
    assert secret["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]
    assert secret["metadata"]["name"] == name
    (world.home / "release").touch()
    wait_until(lambda: not world.api.pods())
    assert world.api.secrets() == []


PRYING = """
import os
from treadle import DAG, task

with DAG("conformance"):
    @task
    def quick():
        found = [name for name in os.environ if "TOKEN" in name]
        try:
            found += [one for one in open(f"/proc/{os.getppid()}/environ").read().split(chr(0)) if "TOKEN" in one]
        except PermissionError:
            pass
        return found
    quick()
"""


def test_a_task_finds_the_token_neither_in_its_own_environment_nor_in_its_parent_s(world: PodWorld) -> None:
    (world.home / "dags" / "conformance.py").write_text(PRYING)
    executor = world.start()
    workload = make_workload("quick")
    executor.queue([workload])
    finish = world.execution.wait_for_finish(workload["attempt_id"])
    assert (finish["outcome"], [one["value"] for one in finish["xcoms"]]) == ("success", ["[]"])


def test_an_override_that_is_not_the_author_s_to_make_is_refused_by_name(world: PodWorld) -> None:
    executor = world.start()
    executor.queue([make_workload("quick", executor_config={"pod_override": {"spec": {"hostNetwork": True}}})])
    event = world.event(executor)
    assert event.kind == "rejected"
    assert "spec.hostNetwork" in event.reason
    assert "POST pods" not in world.api.counts


@pytest.mark.parametrize(
    ("policy", "kept"), [("always", set()), ("on_success", {"failing"}), ("never", {"failing", "quick"})]
)
def test_pods_are_kept_as_the_policy_says_and_are_not_watched_any_more(
    world: PodWorld, policy: str, kept: set[str]
) -> None:
    executor = world.start(delete_pods=policy)
    workloads = [make_workload("quick"), make_workload("failing")]
    executor.queue(workloads)
    for workload in workloads:
        world.execution.wait_for_finish(workload["attempt_id"])

    def settled() -> bool:
        pods = world.api.pods()
        done = [one for one in pods if one["metadata"]["labels"].get("treadle.dev/done") == "true"]
        return len(done) == len(pods) == len(kept)

    wait_until(settled)
    assert {one["metadata"]["annotations"]["treadle.dev/task-id"] for one in world.api.pods()} == kept
    wait_until(lambda: not executor._book._pods)
    assert executor.events() == []
