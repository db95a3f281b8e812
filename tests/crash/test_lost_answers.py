"""Case A77: the answers to starts and finishes are lost at random, after they were recorded or before."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.waiting import wait_until
from tests.support.working import working

from treadle.document import DagDocument, TaskDocument
from treadle_executors import recorder
from treadle_executors.execution_api import Answers, Batch, ExecutionApi, ExecutionUnavailable
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings

TASKS = 300
LOSS = 0.3

SOURCE = """
import os
from treadle import DAG, task

COUNTS = os.open({counts!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

with DAG("lossy", max_active_tasks=1000):
    for number in range({tasks}):
        @task(task_id=f"t{{number}}")
        def count(number):
            os.write(COUNTS, f"{{number}}\\n".encode())
            return number

        count(number)
"""


class Lossy:
    """An Execution API whose requests and answers get lost on the way, as often as not after the commit."""

    def __init__(self, real: ExecutionApi, seed: int) -> None:
        self._real = real
        self._random = random.Random(seed)
        self.lost: Counter[str] = Counter()

    def record(self, batch: Batch) -> Answers:
        """Record a batch, unless it is lost."""
        self._lose(batch, "request")
        answers = self._real.record(batch)
        self._lose(batch, "answer")
        return answers

    def answer(self, request: Any) -> Any:
        """Answer a question."""
        return self._real.answer(request)

    def _lose(self, batch: Batch, what: str) -> None:
        if self._random.random() < LOSS:
            for kind in ("starts", "finishes"):
                self.lost[f"{what} {kind}"] += len(getattr(batch, kind))
            raise ExecutionUnavailable(f"the {what} was lost")


def test_each_task_runs_once_and_none_is_stuck_when_answers_are_lost(
    home: Path, own_database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "_FIRST_PAUSE", 0.001)
    lossy: list[Lossy] = []

    def wrapped(real: ExecutionApi) -> ExecutionApi:
        lossy.append(Lossy(real, seed=77))
        return lossy[0]

    counts = home / "counts"
    tasks = tuple(TaskDocument(f"t{number}", operator="PythonOperator") for number in range(TASKS))
    with working(own_database, replace(settings, parallelism=16, tasks_per_child=100), wrapped) as one:
        one.install(
            DagDocument("lossy", tasks=tasks, max_active_tasks=1000), SOURCE.format(counts=str(counts), tasks=TASKS)
        )
        one.trigger("lossy")
        wait_until(one.is_over, 60)
    assert one.select("SELECT state FROM dag_run") == [{"state": "success"}]
    assert one.select("SELECT DISTINCT state, try_number FROM task_instance") == [{"state": "success", "try_number": 1}]
    outcomes = one.select("SELECT outcome, count(*) AS n FROM task_attempt GROUP BY outcome")
    assert outcomes == [{"outcome": "success", "n": TASKS}]
    assert sorted(counts.read_text().split(), key=int) == [str(number) for number in range(TASKS)]
    lost = lossy[0].lost
    assert all(lost[f"{what} {kind}"] > 10 for what in ("request", "answer") for kind in ("starts", "finishes"))
