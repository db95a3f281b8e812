"""A scheduler that is stopped in order gives its tasks back: no try is charged, and the next one runs them at once."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.support.service import service
from tests.support.waiting import wait_until

from treadle_metadata.connection import Database

TASKS = 6


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_tasks_of_a_stopped_scheduler_are_handed_back_and_run_again_without_a_charge(
    home: Path, own_database: Database, how: signal.Signals
) -> None:
    # No retries, and a lease far longer than the test: only what is handed back can run again.
    limits = {"TREADLE_PARALLELISM": "3", "TREADLE_LEASE_SECONDS": "120", "TREADLE_TERMINATE_GRACE_SECONDS": "1"}
    with service(home, own_database, **limits) as one:
        one.install(TASKS, seconds=600, retries=0)
        one.start()
        one.trigger()
        wait_until(lambda: len(one.executions()) == 3, 30)
        assert one.process is not None
        one.process.send_signal(how)
        assert one.process.wait(20) == 0
        states = one.select("SELECT DISTINCT state, try_number FROM task_instance")
        assert [tuple(row.values()) for row in states] == [("scheduled", 0)]
        given_back = one.select("SELECT outcome, try_number, ended_at, error FROM task_attempt")
        assert [(row["outcome"], row["try_number"]) for row in given_back] == [("handed_back", 1)] * 3
        assert all("the scheduler was stopped" in row["error"]["message"] for row in given_back)
        one.rewrite(TASKS, seconds=0)
        one.start()
        one.wait_for_end()
        assert one.run_state() == "success"
        tries = one.select("SELECT DISTINCT state, try_number FROM task_instance")
        assert [tuple(row.values()) for row in tries] == [("success", 1)]
