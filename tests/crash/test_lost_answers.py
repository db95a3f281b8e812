"""Case A77: the answers to starts and finishes are lost at random, after they were recorded or before."""

from __future__ import annotations

import hashlib
import random
import threading
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.documents import install
from tests.support.waiting import wait_until

from treadle.document import DagDocument, TaskDocument
from treadle_executors import recorder
from treadle_executors.execution_api import Answers, Batch, DatabaseExecution, ExecutionUnavailable
from treadle_executors.local import LocalExecutor
from treadle_metadata import runs
from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_scheduler.context import Context
from treadle_scheduler.loop import Loop

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

    def __init__(self, real: DatabaseExecution, seed: int) -> None:
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
    home: Path, own_database: Database, settings: Settings, monkeypatch: Any
) -> None:
    monkeypatch.setattr(recorder, "_FIRST_PAUSE", 0.001)
    counts = home / "counts"
    source = SOURCE.format(counts=str(counts), tasks=TASKS)
    (home / "dags" / "lossy.py").write_text(source)
    document = DagDocument(
        "lossy",
        tasks=tuple(TaskDocument(f"t{n}", operator="PythonOperator") for n in range(TASKS)),
        max_active_tasks=1000,
    )
    with own_database.begin() as connection:
        install(connection, document, now=datetime.now(UTC), file="lossy.py")
        digest = hashlib.sha256(source.encode()).hexdigest()
        connection.exec_driver_sql("UPDATE dag_version SET file_hash = %(hash)s", {"hash": digest})
        run = runs.trigger_run(connection, "lossy", now=datetime.now(UTC))["id"]
    settings = replace(settings, database_url=own_database.url, parallelism=16, tasks_per_child=100)
    lossy = Lossy(DatabaseExecution(own_database, settings), seed=77)
    executor = LocalExecutor(own_database, settings, lossy)
    loop = Loop(Context(own_database, SystemClock(), settings, {"local": executor}))
    executor.start(loop.wake)
    thread = threading.Thread(target=loop.run)
    thread.start()

    def select(sql: Any) -> list[dict[str, Any]]:
        with own_database.begin() as connection:
            return [dict(row) for row in rows(connection, sql, {"run": run})]

    try:
        wait_until(lambda: select("SELECT FROM dag_run WHERE id = %(run)s AND state IN ('success', 'failed')"), 60)
    finally:
        loop.stop()
        thread.join()
        executor.end()
    assert select("SELECT state FROM dag_run") == [{"state": "success"}]
    assert select("SELECT DISTINCT state, try_number FROM task_instance") == [{"state": "success", "try_number": 1}]
    assert select("SELECT outcome, count(*) AS n FROM task_attempt GROUP BY 1") == [{"outcome": "success", "n": TASKS}]
    assert sorted(counts.read_text().split(), key=int) == [str(number) for number in range(TASKS)]
    assert all(lossy.lost[f"{what} {kind}"] > 10 for what in ("request", "answer") for kind in ("starts", "finishes"))
