"""Commands read logs from the remote store, and take them away there, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.command_line import CommandLine
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata.remote_logs.pieces import key_of
from treadle_metadata.remote_logs.store import LogStore
from treadle_metadata.runs import find_run
from treadle_metadata.statements import rows

LINE = b'{"time":"2026-01-01T00:00:00Z","level":"info","source":"task","text":"far away"}\n'


@pytest.fixture
def store(tmp_path: Path) -> LogStore:
    return LogStore(f"file://{tmp_path}/store")


@pytest.fixture
def remote(line: CommandLine, store: LogStore) -> CommandLine:
    """Commands on a machine whose logs folder is empty."""
    return CommandLine({**line.environment, "TREADLE_REMOTE_LOGS": store.name})


@pytest.fixture
def key(scheduler: TestScheduler, store: LogStore) -> str:
    """The log of a task that ran on a machine that is lost; it lies in the store."""
    scheduler.install(a_dag("d", TaskDocument("a")))
    scheduler.trigger("d", run_id="r1")
    scheduler.beats()
    assert scheduler.run_states("d") == {"r1": "success"}
    with scheduler.database.begin() as connection:
        month = find_run(connection, "d", "r1")["month"]
        path = rows(connection, "SELECT log_path FROM task_attempt")[0]["log_path"]
    key = key_of(month, path)
    store.put(key, 0, LINE)
    return key


def test_the_log_of_a_lost_machine_is_read_from_the_store(remote: CommandLine, line: CommandLine, key: str) -> None:
    assert "far away" in remote.ok("tasks", "logs", "d", "a", "r1")
    assert "far away" in remote.ok("tasks", "logs", "d", "a", "r1", "--follow")
    assert "far away" not in line.ok("tasks", "logs", "d", "a", "r1")


def test_logs_in_the_store_go_with_their_dag_if_asked(remote: CommandLine, store: LogStore, key: str) -> None:
    remote.ok("dags", "delete", "d", "--logs", "--yes")
    assert store.size(key) == 0


def test_an_address_without_a_protocol_is_told(line: CommandLine, key: str) -> None:
    wrong = CommandLine({**line.environment, "TREADLE_REMOTE_LOGS": "bucket/logs"})
    told = wrong.fails("tasks", "logs", "d", "a", "r1")
    assert "setting remote_logs is 'bucket/logs', expected an address such as s3://bucket/logs" in told
