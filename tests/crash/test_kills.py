"""Kill -9 in the middle of a 200-task run: it ends right, no task is lost, none runs more often than it was charged."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.service import Service, service
from tests.support.waiting import wait_until

from treadle_metadata.connection import Database

TASKS = 200


@pytest.fixture
def running(home: Path, own_database: Database) -> Iterator[Service]:
    """A service whose run of 200 tasks is well under way."""
    with service(home, own_database) as one:
        one.install(TASKS, seconds=0.02)
        one.start()
        one.trigger()
        wait_until(lambda: one.finished() >= 20, 30)
        yield one


def test_killing_the_scheduler_loses_nothing(running: Service) -> None:
    """Case A52."""
    host = running.descendants("treadle_worker.host")
    assert host
    running.kill()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in host), 10)
    running.start()
    running.wait_for_end()
    running.assert_ended_right(TASKS, kills=1)


def test_killing_the_scheduler_again_and_again_loses_nothing(home: Path, own_database: Database) -> None:
    """Case A52, in small: no task is left queued, and a slot that a dead scheduler held is used again."""
    tasks, kills = 300, 6
    with service(home, own_database, TREADLE_LEASE_SECONDS="1", TREADLE_LEASE_RENEWAL_SECONDS="0.3") as one:
        one.install(tasks, seconds=0.0, retries=kills)
        one.start()
        one.trigger()
        for _ in range(kills):
            before = one.finished()
            wait_until(lambda before=before: one.finished() > before or one.run_state() == "success", 30)  # type: ignore[misc]
            one.kill()
            one.start()
        one.wait_for_end(120)
        one.assert_ended_right(tasks, kills)


def test_killing_the_runner_host_loses_nothing(running: Service) -> None:
    host = running.descendants("treadle_worker.host")
    os.kill(host[0], signal.SIGKILL)
    running.wait_for_end()
    running.assert_ended_right(TASKS, kills=1)
    lost = running.select("SELECT error FROM task_attempt WHERE outcome = 'failed'")
    assert all(row["error"]["kind"] == "lost" for row in lost)


def test_killing_a_task_child_costs_its_attempt_and_says_so(home: Path, own_database: Database) -> None:
    with service(home, own_database) as one:
        one.install(3, seconds=1.0)
        one.start()
        one.trigger()
        wait_until(lambda: one.executions().get(0), 30)
        before = set(one.descendants("treadle_worker"))
        children = wait_until(lambda: [pid for pid in before if _is_task_child(pid)], 5)
        os.kill(children[0], signal.SIGKILL)
        one.wait_for_end()
        assert one.run_state() == "success"
        failed = one.select("SELECT error, signal FROM task_attempt WHERE outcome = 'failed'")
        assert len(failed) == 1
        assert failed[0]["signal"] == signal.SIGKILL
        assert "signal 9" in failed[0]["error"]["message"]
        one.assert_ended_right(3, kills=1)


def _is_task_child(pid: int) -> bool:
    """Tell whether a process leads a process group of its own: only task children do."""
    try:
        return os.getpgid(pid) == pid and bool(_parent_is_forked(pid))
    except ProcessLookupError:
        return False


def _parent_is_forked(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    grandparent = Path(f"/proc/{stat[1]}/stat").read_text().rpartition(")")[2].split()[1]
    return "treadle_worker.zygote" in Path(f"/proc/{grandparent}/cmdline").read_text().replace("\0", " ")
