"""A worker machine's client of the Execution API against a real server on a real socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from tests.integration.execution_api.conftest import Worker
from tests.support.waiting import wait_until

from treadle_executors.execution_api import Batch, ExecutionUnavailable
from treadle_executors.http_execution import HttpExecution, LogPart
from treadle_metadata.errors import InvalidRequestError


@pytest.fixture
def url(worker: Worker) -> Iterator[str]:
    """The address of a server that serves the worker's application."""
    server = uvicorn.Server(uvicorn.Config(worker.app, log_config=None, lifespan="on"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        wait_until(lambda: server.started, 20)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join()


def report(worker: Worker, task_id: str, **more: Any) -> Any:
    """Return a report without a token, as a runner host makes it."""
    item = worker.item(worker.attempt(task_id), "", **more)
    del item["token"]
    return item


def test_a_task_is_run_through_http_and_wakes_the_next(worker: Worker, url: str) -> None:
    execution, start = HttpExecution(url), report(worker, "a")
    execution.hold(start["attempt_id"], worker.token(worker.attempt("a")))
    answers = execution.record(Batch(starts=[start]))
    assert [one["accepted"] for one in answers.starts] == [True]
    assert execution.record(Batch(heartbeats=[report(worker, "a", asked_at=1.0)])).ours == {start["attempt_id"]}
    question: Any = {"attempt_id": start["attempt_id"], "op": "get_variable", "args": {"key": "absent"}}
    assert execution.answer(question) is None
    part = LogPart(start["attempt_id"], execution.token_of(start["attempt_id"]), 0, b"a line\n")
    assert execution.send_logs([part]) == {start["attempt_id"]: 7}
    end = report(worker, "a", outcome="success", ended_at=start["started_at"], xcoms=[])
    assert execution.record(Batch(finishes=[end])).accepted == {start["attempt_id"]}
    worker.scheduler.beats()
    assert worker.scheduler.task_states("r") == {"a": "success", "b": "queued", "c": "queued"}


def test_an_attempt_without_a_token_is_refused_beside_one_that_has_its(worker: Worker, url: str) -> None:
    execution = HttpExecution(url)
    execution.hold(str(worker.attempt("a").attempt_id), worker.token(worker.attempt("a")))
    answers = execution.record(Batch(starts=[report(worker, "a"), report(worker, "b")]))
    assert [one["accepted"] for one in answers.starts] == [True, False]
    assert "not one of this installation" in answers.starts[1]["reason"]


def test_a_refusal_is_an_error_and_not_worth_another_try(worker: Worker, url: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"refused reports \(401\)"):
        HttpExecution(url).record(Batch(heartbeats=[report(worker, "a", asked_at=1.0)]))


def test_a_server_that_is_away_may_be_asked_again(worker: Worker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ExecutionUnavailable):
        HttpExecution(f"http://127.0.0.1:{port}").record(Batch(starts=[report(worker, "a")]))


def test_a_server_that_fails_may_be_asked_again(worker: Worker, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    execution = HttpExecution(url)
    execution.hold(str(worker.attempt("a").attempt_id), worker.token(worker.attempt("a")))

    def fail(*_: object) -> None:
        raise RuntimeError("broken for a minute")

    with monkeypatch.context() as broken:
        broken.setattr("treadle_executors.execution_api.DatabaseExecution.record", fail)
        with pytest.raises(ExecutionUnavailable, match="answered 500"):
            execution.record(Batch(starts=[report(worker, "a")]))
    assert execution.record(Batch(starts=[report(worker, "a")])).starts[0]["accepted"]
