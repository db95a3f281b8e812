"""The runner host of a worker machine: messages that it cannot use, of a newer server, or that come as it stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.support.execution_server import ExecutionServer, execution_server

from treadle_executors.conformance import DAG_FILE, make_workload
from treadle_executors.errors import HostEndsError
from treadle_executors.http_execution import HttpExecution
from treadle_executors.remote_host import RemoteHost
from treadle_metadata.settings import Settings


@pytest.fixture
def server() -> Iterator[ExecutionServer]:
    """The server that the host reports to."""
    with execution_server() as server:
        yield server


@pytest.fixture
def host(settings: Settings, server: ExecutionServer) -> Iterator[RemoteHost]:
    """A host that runs."""
    (settings.path("dags_folder") / "conformance.py").write_text(DAG_FILE)
    host = RemoteHost(replace(settings, terminate_grace_seconds=0.5), HttpExecution(server.url), 2)
    host.start()
    yield host
    host.end()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"log_path": "../../etc/passwd"}, "log_path leaves its folder"),
        ({"file": None}, "no usable file: expected a text, found None"),
        ({"run": None}, "says nothing about its run"),
    ],
)
def test_a_message_that_cannot_run_fails_its_attempt_in_words(
    host: RemoteHost, server: ExecutionServer, change: dict[str, Any], reason: str
) -> None:
    workload = make_workload("quick", **change)
    assert host.run(workload, "a token")
    finish = server.execution.wait_for_finish(workload["attempt_id"])
    assert finish["error"] is not None
    assert (finish["outcome"], finish["error"]["type"]) == ("failed", "WorkloadRefused")
    assert reason in finish["error"]["message"]
    assert server.execution.starts == []


def test_a_message_that_does_not_say_which_attempt_it_is_is_dropped(
    host: RemoteHost, caplog: pytest.LogCaptureFixture
) -> None:
    assert host.run({"task_id": "quick"}, "a token")  # type: ignore[typeddict-item]
    assert "a message was refused: the workload has no usable attempt_id" in caplog.text


def test_what_a_newer_server_says_beside_is_passed_over(host: RemoteHost, server: ExecutionServer) -> None:
    workload = make_workload("quick", shoe_size=46)
    assert host.run(workload, "a token")
    assert server.execution.wait_for_finish(workload["attempt_id"])["outcome"] == "success"


def test_a_host_that_is_ended_takes_nothing(host: RemoteHost, server: ExecutionServer) -> None:
    host.end()
    with pytest.raises(HostEndsError, match="is not taken: the worker is being stopped"):
        host.run(make_workload("quick"), "a token")
    assert server.execution.starts == []
