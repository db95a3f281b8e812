"""Logs of attempts below the local executor are in the remote store while they run, and only there once they end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import cast

import pytest
from tests.support.waiting import wait_until

from treadle_executors import log_sending
from treadle_executors.conformance import make_workload
from treadle_executors.local import LocalExecutor
from treadle_executors.memory_execution import MemoryExecution
from treadle_metadata.connection import Database
from treadle_metadata.queries import logs
from treadle_metadata.remote_logs.pieces import key_of
from treadle_metadata.remote_logs.reading import StoredLog
from treadle_metadata.remote_logs.store import LogStore
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload

DAG_FILE = """
import pathlib, time
from treadle import DAG, task

with DAG("conformance"):
    @task
    def talks():
        print("begun")
        while not pathlib.Path(__file__).with_name("release").exists():
            time.sleep(0.01)
        print("done")

    talks()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(log_sending, "LOOK_SECONDS", 0.02)
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "conformance.py").write_text(DAG_FILE)
    return tmp_path


@pytest.fixture
def execution() -> MemoryExecution:
    return MemoryExecution()


@pytest.fixture
def executor(home: Path, execution: MemoryExecution) -> Iterator[LocalExecutor]:
    settings = Settings(home=home, parallelism=2, remote_logs=f"file://{home}/store")
    made = LocalExecutor(cast("Database", None), settings, execution)
    made.start(lambda: None)
    yield made
    made.end()


def texts(home: Path, workload: Workload) -> list[str]:
    store = LogStore(f"file://{home}/store")
    log = StoredLog(store, key_of(date(2026, 1, 1), workload["log_path"]))
    return [line["text"] for line in logs.iterate(log)]


def test_a_log_is_in_the_store_while_its_task_runs_and_its_file_goes_when_it_is_over(
    executor: LocalExecutor, execution: MemoryExecution, home: Path
) -> None:
    workload = make_workload("talks")
    executor.queue([workload])
    wait_until(lambda: "begun" in texts(home, workload))
    (home / "dags" / "release").touch()
    assert execution.wait_for_finish(workload["attempt_id"])["outcome"] == "success"
    wait_until(lambda: "done" in texts(home, workload))
    wait_until(lambda: [one.name for one in (home / "logs").iterdir()] == [".to-send"])
    folder = home / "store/2026-01" / workload["log_path"].removesuffix(".jsonl")
    assert len(list(folder.iterdir())) == 1


def test_what_a_scheduler_could_not_send_is_sent_by_the_next_one_on_its_machine(
    executor: LocalExecutor, execution: MemoryExecution, home: Path
) -> None:
    (home / "store").write_text("no folder: nothing can be stored here")
    workload = make_workload("talks")
    executor.queue([workload])
    execution.wait_for_start(workload["attempt_id"])
    wait_until((home / "logs" / workload["log_path"]).exists)
    executor.end()
    (home / "store").unlink()
    after = LocalExecutor(cast("Database", None), replace(executor.settings), MemoryExecution())
    after.start(lambda: None)
    wait_until(lambda: "begun" in texts(home, workload))
    after.end()
