"""A host whose executor falls silent (stopped, cut off) ends its attempts before another host may take them over."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

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
    rig = make_rig(lease_seconds=LEASE_SECONDS, lease_renewal_seconds=LEASE_SECONDS / 4)
    rig.dag(TASKS)
    workload = rig.queue("hold")
    wait_until((rig.home / "holding").exists)
    host = rig.executor.host_pid
    assert host is not None
    os.kill(host, signal.SIGSTOP)
    began = time.monotonic()
    wait_until(lambda: time.monotonic() > began + 1.5 * LEASE_SECONDS)
    os.kill(host, signal.SIGCONT)
    finish = rig.end_of(workload)
    assert finish["error"] is not None
    assert finish["error"]["kind"] == "terminated"
