"""A host whose executor falls silent (stopped, cut off) ends its attempts before another host may take them over."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest
from bench import processes
from bench.cluster import is_zombie
from tests.integration.worker.conftest import Rig
from tests.support.waiting import wait_until

LEASE_SECONDS = 0.8

TASKS = """
@task
def hold():
    pathlib.Path(HOME, "holding").touch()
    time.sleep(600)
hold()
"""


def test_code_whose_lease_is_not_renewed_is_ended_by_its_host(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(lease_seconds=LEASE_SECONDS)
    rig.dag(TASKS)
    workload = rig.queue("hold")
    wait_until((rig.home / "holding").exists)
    log = rig.home / "logs" / workload["log_path"]
    with rig.execution.changed:  # whoever records waits for it, as a stopped scheduler would
        wait_until(lambda: log.exists() and "told to stop" in log.read_text())
    finish = rig.end_of(workload)
    assert finish["error"] is not None
    assert finish["error"]["kind"] == "terminated"


def test_code_does_not_begin_when_its_start_is_answered_after_the_lease(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(lease_seconds=LEASE_SECONDS)
    rig.dag(TASKS)
    with rig.execution.changed:
        workload = rig.queue("hold")
        began = time.monotonic()
        wait_until(lambda: time.monotonic() > began + 2 * LEASE_SECONDS)
    finish = rig.end_of(workload)
    assert finish["error"] is not None
    assert "answered only when its lease was over" in finish["error"]["message"]
    assert not (rig.home / "holding").exists()


def test_code_whose_lease_is_renewed_goes_on_beyond_the_first_lease(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(lease_seconds=LEASE_SECONDS)
    rig.dag(TASKS)
    workload = rig.queue("hold")
    wait_until((rig.home / "holding").exists)
    began = time.monotonic()
    wait_until(lambda: time.monotonic() > began + 2 * LEASE_SECONDS)
    assert workload["attempt_id"] not in rig.execution.finishes


def test_a_host_that_was_stopped_itself_ends_what_has_expired_when_it_goes_on(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(lease_seconds=LEASE_SECONDS, lease_renewal_seconds=LEASE_SECONDS / 8)
    rig.dag(TASKS)
    workload = rig.queue("hold")
    wait_until((rig.home / "holding").exists)
    host = rig.executor.host_pid
    assert host is not None
    with rig.execution.changed:  # its executor stands still as well: the machine was asleep
        began = time.monotonic()
        wait_until(lambda: time.monotonic() > began + LEASE_SECONDS / 4)
        os.kill(host, signal.SIGSTOP)
        wait_until(lambda: time.monotonic() > began + 2 * LEASE_SECONDS)
        os.kill(host, signal.SIGCONT)
    finish = rig.end_of(workload)
    assert finish["error"] is not None
    assert finish["error"]["kind"] == "terminated"


@pytest.mark.parametrize("whole_tree", [False, True], ids=["alone", "with all below it"])
def test_a_host_that_is_silent_for_a_lease_is_killed_with_its_tasks_and_another_takes_its_place(
    make_rig: Callable[..., Rig], whole_tree: bool
) -> None:
    rig = make_rig(lease_seconds=LEASE_SECONDS, lease_renewal_seconds=LEASE_SECONDS / 4)
    rig.dag(TASKS + "@task\ndef quick():\n    return 1\nquick()\n")
    workload = rig.queue("hold")
    wait_until((rig.home / "holding").exists)
    host = rig.executor.host_pid
    assert host is not None
    below = processes.tree(host)
    for pid in below if whole_tree else [host]:
        os.kill(pid, signal.SIGSTOP)
    event = rig.event()
    assert (event.kind, str(event.attempt_id)) == ("lost", workload["attempt_id"])
    assert "said nothing for 0.8 s" in event.reason
    wait_until(lambda: not [pid for pid in below if processes.name(pid) and not is_zombie(pid)])
    assert rig.run("quick")["outcome"] == "success"
