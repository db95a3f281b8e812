"""What the local executor does when the server is slow, gone, or refuses a report."""

from __future__ import annotations

from collections.abc import Callable

from tests.integration.worker.conftest import Rig
from tests.support.waiting import wait_until

TASKS = """
@task
def quick():
    return "fine"

@task
def poisoned():
    return "poison"

@task
def hold():
    pathlib.Path(HOME, "holding").touch()
    time.sleep(600)
quick(), poisoned(), hold()
"""


def test_reports_wait_for_a_server_that_is_gone_for_a_while(rig: Rig) -> None:
    rig.dag(TASKS)
    rig.run("quick")
    rig.execution.unreachable = True
    workloads = [rig.queue("quick") for _ in range(3)]
    wait_until(rig.execution.asked_in_vain.is_set)
    rig.execution.unreachable = False
    assert {rig.end_of(one)["outcome"] for one in workloads} == {"success"}
    assert rig.executor.events() == []


def test_attempts_whose_lease_cannot_be_renewed_are_ended(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(lease_seconds=0.5)
    rig.dag(TASKS)
    workload = rig.queue("hold")
    wait_until((rig.home / "holding").exists)
    rig.execution.unreachable = True
    log = rig.home / "logs" / workload["log_path"]
    wait_until(lambda: log.exists() and "told to stop" in log.read_text())
    rig.execution.unreachable = False
    finish = rig.end_of(workload)
    assert finish["error"] is not None
    assert finish["error"]["kind"] == "terminated"


def test_a_report_that_the_server_cannot_store_becomes_a_failure_and_holds_up_no_other(rig: Rig) -> None:
    rig.execution.poison = "poison"
    rig.dag(TASKS)
    poisoned, quick = rig.workload("poisoned"), rig.workload("quick")
    rig.executor.queue([poisoned, quick])
    assert rig.end_of(quick)["outcome"] == "success"
    finish = rig.end_of(poisoned)
    assert (finish["outcome"], finish["xcoms"]) == ("failed", [])
    assert finish["error"] is not None
    assert finish["error"]["kind"] == "protocol"
    assert "poison cannot be stored" in finish["error"]["message"]


def test_reports_that_gather_are_recorded_together(rig: Rig) -> None:
    rig.dag(TASKS)
    rig.run("quick")
    rig.execution.unreachable = True
    before = rig.execution.batches
    workloads = [rig.queue("quick") for _ in range(8)]
    wait_until(rig.execution.asked_in_vain.is_set)
    rig.execution.unreachable = False
    for one in workloads:
        rig.end_of(one)
    assert rig.execution.batches - before < 2 * len(workloads)


def test_living_attempts_send_heartbeats(rig: Rig) -> None:
    rig.dag(TASKS)
    workload = rig.queue("hold")
    wait_until(lambda: workload["attempt_id"] in {one["attempt_id"] for one in rig.execution.heartbeats})
