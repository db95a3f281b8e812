"""Schedulers of pods that are killed, stopped and restarted: the pods go on (cases C13, C14)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.kubernetes_service import KubernetesService, kubernetes_service
from tests.support.waiting import wait_until

from treadle_metadata.connection import Database

TASKS = 4


@pytest.fixture
def installation(home: Path, own_database: Database) -> Iterator[KubernetesService]:
    """A cluster, a web server, and a DAG of four tasks of two seconds."""
    with kubernetes_service(home, own_database) as one:
        one.install(TASKS, seconds=2.0)
        yield one


def all_run(installation: KubernetesService) -> set[str]:
    """Wait until the code of every task runs; return the ids of the pods."""
    wait_until(lambda: len(installation.executions()) == TASKS, 40)
    return installation.uids()


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_pods_outlive_their_scheduler_and_the_next_one_sees_the_same_pods_to_their_end(
    installation: KubernetesService, how: str
) -> None:
    """Case C13: no pod is ended, none is made again, and no try is charged."""
    installation.start()
    installation.trigger()
    before = all_run(installation)
    getattr(installation, how)()
    assert installation.uids() == before
    installation.start()
    installation.wait_for_end()
    assert installation.api.counts["POST pods"] == TASKS
    installation.assert_ended_right(TASKS, kills=0)
    wait_until(lambda: not installation.api.pods(), 20)
    assert installation.api.secrets() == []


def test_pending_pods_outlive_their_scheduler_too(installation: KubernetesService) -> None:
    """Case C13: what nobody has started yet is kept by whichever scheduler sees its pod."""
    installation.api.hold()
    other = installation.second()
    installation.start()
    installation.trigger()
    wait_until(lambda: len(installation.api.pods()) == TASKS, 20)
    other.start()
    try:
        wait_until(lambda: installation.api.counts.get("WATCH pods", 0) >= 2, 20)
        installation.kill()
        lease = installation.select("SELECT max(lease_until) AS until FROM task_instance")[0]["until"]
        later = "SELECT count(*) AS n FROM task_instance WHERE state = 'queued' AND lease_until > %(lease)s"
        wait_until(lambda: installation.select(later, lease=lease)[0]["n"] == TASKS, 20)
        installation.api.release()
        installation.wait_for_end()
        assert installation.api.counts["POST pods"] == TASKS
        installation.assert_ended_right(TASKS, kills=0)
    finally:
        other.stop()


def test_two_schedulers_restarted_one_after_the_other_never_fight_about_a_pod(installation: KubernetesService) -> None:
    """Case C14: each pod ends once, none is reset, and the free places are right afterwards."""
    other = installation.second()
    installation.start()
    other.start()
    try:
        installation.trigger()
        before = all_run(installation)
        installation.kill()
        installation.start()
        other.kill()
        other.start()
        assert before <= {one["metadata"]["uid"] for one in installation.api.pods()} or installation.finished()
        installation.wait_for_end()
        assert installation.api.counts["POST pods"] == TASKS
        installation.assert_ended_right(TASKS, kills=0)
        wait_until(lambda: not installation.api.pods(), 20)
        # The places are free again: a second run of all tasks starts at once.
        installation.trigger()
        wait_until(lambda: len(installation.api.pods()) == TASKS, 20)
        wait_until(lambda: installation.finished() == 2 * TASKS, 40)
    finally:
        other.stop()
