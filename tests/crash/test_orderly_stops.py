"""A scheduler that is stopped in order gives its tasks back: no try is charged, and the next one runs them at once."""

from __future__ import annotations

import signal
from pathlib import Path

from bench.installation import Installation, write_dags
from tests.support.service import service
from tests.support.waiting import wait_until

from treadle_metadata.connection import Database

TASKS = 6


def test_tasks_of_a_stopped_scheduler_are_handed_back_and_run_again_without_a_charge(
    home: Path, own_database: Database
) -> None:
    # No retries, and a lease far longer than the test: only what is handed back can run again.
    limits = {"TREADLE_PARALLELISM": "3", "TREADLE_LEASE_SECONDS": "120", "TREADLE_TERMINATE_GRACE_SECONDS": "1"}
    with service(home, own_database, **limits) as one:
        one.install(TASKS, seconds=600, retries=0)
        one.start()
        one.trigger()
        wait_until(lambda: len(one.executions()) == 3, 30)
        assert one.process is not None
        one.process.send_signal(signal.SIGTERM)
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


LONG = """
import time
from treadle import DAG, task

with DAG("long"):
    @task
    def work():
        time.sleep({seconds})

    work()
"""


def test_ctrl_c_of_a_standalone_hands_its_tasks_back_and_its_next_start_runs_them(home: Path) -> None:
    write_dags(home, {"long": LONG.format(seconds=600)})
    one = Installation(home, {})
    one.start()
    try:
        one.wait_for_dag("long")
        one.trigger("long")
        wait_until(lambda: one.select("SELECT FROM task_instance WHERE state = 'running'"), 30)
    finally:
        one.stop()
    write_dags(home, {"long": LONG.format(seconds=0)})
    one.start()
    try:
        one.wait_for_runs(1, 30)
        attempts = one.select("SELECT outcome, try_number FROM task_attempt ORDER BY queued_at")
        assert [tuple(row.values()) for row in attempts] == [("handed_back", 1), ("success", 1)]
    finally:
        one.stop()
