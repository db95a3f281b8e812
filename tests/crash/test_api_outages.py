"""Case A72: the Execution API is away for less than a lease, or for more, while a task runs."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.waiting import wait_until
from tests.support.working import Working, working

from treadle.document import DagDocument, TaskDocument
from treadle_executors.execution_api import Answers, Batch, ExecutionApi, ExecutionUnavailable
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings

LEASE_SECONDS = 1.6

SOURCE = """
import os, time
from treadle import DAG, get_current_context, task

SIGNS = os.open({signs!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

with DAG("long"):
    @task(retries=1, retry_delay=0)
    def work():
        tries = get_current_context()["ti"].try_number
        end = time.monotonic() + ({seconds} if tries == 1 else 0.1)
        while time.monotonic() < end:
            os.write(SIGNS, f"{{tries}} {{time.monotonic()}}\\n".encode())
            time.sleep(0.02)

    work()
"""


class Outage:
    """An Execution API that cannot be reached while ``is_down``."""

    def __init__(self, real: ExecutionApi) -> None:
        self._real = real
        self.is_down = False
        self.refusals = 0

    def record(self, batch: Batch) -> Answers:
        """Record a batch."""
        self._check()
        return self._real.record(batch)

    def answer(self, request: Any) -> Any:
        """Answer a question."""
        self._check()
        return self._real.answer(request)

    def _check(self) -> None:
        if self.is_down:
            self.refusals += 1
            raise ExecutionUnavailable("it is down")


def run(one: Working, signs: Path, *, task_seconds: float, outage_seconds: float) -> dict[int, list[float]]:
    """Run the task with an outage soon after its beginning; return when each try gave a sign of life."""
    document = DagDocument(
        "long", tasks=(TaskDocument("work", operator="PythonOperator", retries=1, retry_delay_seconds=0),)
    )
    one.install(document, SOURCE.format(signs=str(signs), seconds=task_seconds))
    one.trigger("long")
    wait_until(signs.exists, 20)
    outage = one.execution
    assert isinstance(outage, Outage)
    outage.is_down = True
    began = time.monotonic()
    wait_until(lambda: time.monotonic() > began + outage_seconds, 20)
    outage.is_down = False
    wait_until(one.is_over, 30)
    assert outage.refusals > 1, "nobody tried again"
    found: dict[int, list[float]] = {}
    for line in signs.read_text().splitlines():
        tries, at = line.split()
        found.setdefault(int(tries), []).append(float(at))
    return found


@pytest.fixture
def impatient(settings: Settings) -> Settings:
    """Settings with a short lease."""
    return replace(
        settings,
        lease_seconds=LEASE_SECONDS,
        lease_renewal_seconds=LEASE_SECONDS / 8,
        heartbeat_seconds=0.2,
        terminate_grace_seconds=0.2,
    )


def test_a_task_goes_on_through_an_outage_that_is_shorter_than_its_lease(
    home: Path, own_database: Database, impatient: Settings
) -> None:
    with working(own_database, impatient, Outage) as one:
        signs = run(one, home / "signs", task_seconds=LEASE_SECONDS, outage_seconds=LEASE_SECONDS / 3)
        attempts = one.select("SELECT outcome, try_number FROM task_attempt")
    assert list(signs) == [1]
    assert attempts == [{"outcome": "success", "try_number": 1}]


def test_a_task_whose_lease_is_lost_has_stopped_before_its_second_try_begins(
    home: Path, own_database: Database, impatient: Settings
) -> None:
    with working(own_database, impatient, Outage) as one:
        signs = run(one, home / "signs", task_seconds=600, outage_seconds=2.5 * LEASE_SECONDS)
        attempts = one.select("SELECT outcome, try_number FROM task_attempt ORDER BY try_number")
    assert [tuple(row.values()) for row in attempts] == [("failed", 1), ("success", 2)]
    assert sorted(signs) == [1, 2]
    assert max(signs[1]) < min(signs[2])
    assert max(signs[1]) - min(signs[1]) < 1.5 * LEASE_SECONDS
