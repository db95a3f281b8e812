"""Ends of pods reach the scheduler once, whatever the watch goes through (case C8)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.support.kubernetes_api.server import Fault
from tests.support.kubernetes_homes import PodWorld
from tests.support.waiting import wait_until

from treadle_executors.conformance import make_workload


def no_watch(world: PodWorld) -> Fault:
    """Break the watch, and refuse each new one until ``times`` is set to 0."""
    fault = Fault("GET", "pods", 503, "ServiceUnavailable", "restarting", times=10**6)
    world.api.faults.append(fault)
    world.api.drop_connections()
    return fault


@pytest.mark.parametrize("as_event", [True, False])
def test_an_end_that_a_too_old_watch_missed_is_found_by_listing_and_told_once(world: PodWorld, as_event: bool) -> None:
    """Case C8: 410 as an event of the stream, and as the status of the answer."""
    executor = world.start()
    workload = make_workload("waiting")
    executor.queue([workload])
    name = world.running_pod()
    fault = no_watch(world)
    world.api.kill(name)
    wait_until(lambda: world.pods_in("Failed"))
    world.api.gone_as_event = as_event
    world.api.call(world.api.store.compact)
    fault.times = 0
    event = world.event(executor)
    assert (event.kind, event.attempt_id) == ("lost", UUID(workload["attempt_id"]))
    wait_until(lambda: not world.api.pods())
    assert executor.events() == []
    (world.home / "release").touch()
    after = make_workload("quick")
    executor.queue([after])
    assert world.execution.wait_for_finish(after["attempt_id"])["outcome"] == "success"
    assert executor.events() == []


def test_a_pod_that_was_deleted_while_nobody_watched_is_lost(world: PodWorld) -> None:
    """Case C8: a list that lacks a pod is an end, too."""
    executor = world.start()
    executor.queue([make_workload("waiting")])
    name = world.running_pod()
    fault = no_watch(world)
    world.api.kill(name)
    world.api.call(lambda: world.api.store.remove("pods", name))
    world.api.call(world.api.store.compact)
    fault.times = 0
    assert "was deleted" in world.event(executor).reason


def test_a_pod_that_was_never_seen_is_looked_for_and_lost(world: PodWorld) -> None:
    """Made and deleted between two lists: only asking for it tells."""
    executor = world.start()
    fault = no_watch(world)
    fault.is_watch = True
    world.api.faults.append(Fault("GET", "pods", 503, "ServiceUnavailable", "restarting", times=2))
    executor.queue([make_workload("waiting")])
    name = world.running_pod()
    world.api.kill(name)
    world.api.call(lambda: world.api.store.remove("pods", name))
    world.api.call(world.api.store.compact)
    fault.times = 0
    assert "was deleted" in world.event(executor).reason


def test_bookmarks_keep_a_quiet_watch_from_growing_too_old(world: PodWorld) -> None:
    """Without them, each compaction of the server would cost a list of all pods."""
    world.api.bookmark_seconds = 0.02
    executor = world.start()
    executor.queue([make_workload("waiting")])
    name = world.running_pod()
    wait_until(lambda: world.api.counts.get("WATCH pods", 0) >= 1)
    version = world.api.store.version + 20
    for _ in range(20):
        world.api.call(lambda: world.api.store.create("secrets", other_secret()))
    wait_until(lambda: int(executor._watcher._version) >= version)
    lists = world.api.counts["GET pods"]
    world.api.call(world.api.store.compact)
    wait_until(lambda: int(executor._watcher._version) > version)
    world.api.drop_connections()
    world.api.kill(name)
    assert world.event(executor).kind == "lost"
    # One request read the pod's log; none listed.
    assert world.api.counts["GET pods"] <= lists + 1


def other_secret() -> dict[str, Any]:
    """Return an object that is none of ours; it moves the cluster's version."""
    other_secret.count += 1  # type: ignore[attr-defined]
    return {"metadata": {"name": f"other-{other_secret.count}"}}  # type: ignore[attr-defined]


other_secret.count = 0  # type: ignore[attr-defined]


def test_pods_that_are_not_in_order_stop_nothing(world: PodWorld) -> None:
    """Others may make pods with our labels, and anything else in them."""
    executor = world.start()
    ours = {"app.kubernetes.io/managed-by": "treadle", "treadle.dev/installation": "treadle"}
    broken: list[Any] = [
        {"metadata": {"name": "a", "labels": {**ours, "treadle.dev/attempt": "no-uuid"}}},
        {"metadata": {"name": "b", "labels": {**ours, "treadle.dev/attempt": "x"}, "annotations": None}, "status": []},
        {"metadata": {"name": "c", "labels": {**ours, "treadle.dev/attempt": "y"}}, "status": {"phase": 7}},
    ]
    for pod in broken:
        world.api.call(lambda pod=pod: world.api.store.create("pods", pod))  # type: ignore[misc]
    workload = make_workload("quick")
    executor.queue([workload])
    assert world.execution.wait_for_finish(workload["attempt_id"])["outcome"] == "success"
    wait_until(lambda: len(world.api.pods()) == len(broken))
    assert executor.events() == []
    assert executor.troubles() == []


def test_a_list_of_many_pages_is_read_whole(world: PodWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle_executors.kubernetes.cluster._PAGE", 2)
    first = world.start()
    workloads = [make_workload("waiting") for _ in range(5)]
    first.queue(workloads)
    world.running_pod(5)
    first.end()
    second = world.start()
    ids = {UUID(one["attempt_id"]) for one in workloads}
    wait_until(lambda: second.adopt(ids) == ids)
