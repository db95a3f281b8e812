"""The built-in triggers, each run as a triggerer would run it: made anew from what it says of itself."""

from __future__ import annotations

import asyncio
import http.server
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from tests.support.waiting import until

from treadle import xcom
from treadle.triggers import (
    BaseTrigger,
    DagStateTrigger,
    FileDeleteTrigger,
    FileTrigger,
    HttpTrigger,
    ProcessExitTrigger,
    SqlTrigger,
    TriggerEvent,
    WorkflowTrigger,
)
from treadle.triggers.asking import answer_with
from treadle.triggers.making import made
from treadle.triggers.process import start_of

SOON = 0.005


def again(trigger: BaseTrigger) -> BaseTrigger:
    """Return the trigger as another process would make it."""
    path, kwargs = trigger.serialize()
    return made(path, xcom.dumps(kwargs)[0])


def first_event(trigger: BaseTrigger, meanwhile: Any = None) -> TriggerEvent:
    async def run() -> TriggerEvent:
        one = again(trigger)
        events = cast("AsyncGenerator[TriggerEvent, None]", one.run())
        if meanwhile is not None:
            asyncio.get_running_loop().call_later(SOON, meanwhile)
        try:
            async with asyncio.timeout(5):
                return await anext(events)
        finally:
            await events.aclose()
            await one.cleanup()

    return asyncio.run(run())


@pytest.fixture
def answers() -> Iterator[list[Any]]:
    """Questions are answered with the first element; the last one stays."""
    found: list[Any] = []

    async def answer(op: str, args: Mapping[str, Any]) -> Any:
        given = found.pop(0) if len(found) > 1 else found[0]
        return given(op, args) if callable(given) else given

    answer_with(answer)
    yield found
    answer_with(None)


def test_a_file_is_found_when_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "in" / "data.csv"
    path.parent.mkdir()
    trigger = FileTrigger(str(tmp_path / "**" / "*.csv"), recursive=True, poke_interval=SOON)
    assert first_event(trigger, path.touch).payload == str(path)


def test_a_folder_counts_once_there_is_a_file_in_it(tmp_path: Path) -> None:
    assert first_event(FileTrigger(str(tmp_path), poke_interval=SOON), (tmp_path / "f").touch).payload == str(tmp_path)


def test_a_watched_file_is_deleted_after_its_event(tmp_path: Path) -> None:
    path = tmp_path / "go"
    path.touch()

    async def run() -> None:
        events = cast(
            "AsyncGenerator[TriggerEvent, None]", again(FileDeleteTrigger(str(path), poke_interval=SOON)).run()
        )
        async with asyncio.timeout(5):
            assert (await anext(events)).payload == {"filepath": str(path)}
            assert path.exists()
            following = asyncio.ensure_future(anext(events))
            await until(lambda: not path.exists())
        following.cancel()

    asyncio.run(run())


@pytest.mark.parametrize("interval", [0, -1])
def test_an_interval_is_longer_than_nothing(interval: float) -> None:
    with pytest.raises(ValueError, match="longer than 0 seconds"):
        FileTrigger("/x", poke_interval=interval)


def test_the_end_of_a_process_is_seen() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        trigger = ProcessExitTrigger(process.pid)
        assert first_event(trigger, process.stdin.close).payload == {"pid": process.pid}  # type: ignore[union-attr]
    finally:
        process.wait()


def test_a_pid_that_is_another_process_by_now_counts_as_over() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        earlier = (start_of(process.pid) or 1) - 1
        assert first_event(ProcessExitTrigger(process.pid, started=earlier)).payload == {"pid": process.pid}
    finally:
        process.communicate()


def test_a_query_is_asked_until_its_first_value_is_true(tmp_path: Path, answers: list[Any]) -> None:
    path = tmp_path / "db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE job (id int, done int)")
        database.execute("INSERT INTO job VALUES (7, 0)")
    database.close()
    answers.append({"conn_id": "jobs", "conn_type": "sqlite", "host": str(path)})

    def finish() -> None:
        with sqlite3.connect(path) as later:
            later.execute("UPDATE job SET done = 1")
        later.close()

    trigger = SqlTrigger("jobs", "SELECT done, id FROM job WHERE id = ?", parameters=[7], poke_interval=SOON)
    assert first_event(trigger, finish).payload == [1, 7]


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers with the statuses of its server, one after the other; the last one stays."""

    def do_GET(self) -> None:
        server = cast("Any", self.server)
        server.seen.append((self.path, self.headers.get("Authorization")))
        self.send_response(server.statuses.pop(0) if len(server.statuses) > 1 else server.statuses[0])
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"ready")

    def log_message(self, format: str, *arguments: Any) -> None: ...


@pytest.fixture
def site() -> Iterator[Any]:
    server: Any = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.seen, server.statuses = [], [200]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_endpoint_is_asked_until_it_answers_well(site: Any, answers: list[Any]) -> None:
    site.statuses = [404, 404, 200]
    host, port = site.server_address
    answers.append({"conn_id": "api", "conn_type": "http", "host": host, "port": port, "login": "u", "password": "p"})
    event = first_event(HttpTrigger("jobs/7", http_conn_id="api", data={"full": 1}, poke_interval=SOON))
    assert (event.payload["status"], event.payload["text"]) == (200, "ready")
    assert [path for path, _ in site.seen] == ["/jobs/7?full=1"] * 3
    assert site.seen[0][1] == "Basic dTpw"


def test_an_endpoint_that_refuses_fails_the_wait(site: Any) -> None:
    site.statuses = [503]
    with pytest.raises(RuntimeError, match="answered 503"):
        first_event(HttpTrigger(f"http://127.0.0.1:{site.server_address[1]}/", poke_interval=SOON))


def states(*runs: tuple[str, dict[str, dict[str, int]]]) -> dict[str, Any]:
    found = [
        {"logical_date": "2025-01-01T00:00:00+00:00", "run_id": "r", "state": state, "tasks": tasks}
        for state, tasks in runs
    ]
    return {"runs": found, "missing": []}


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ({"a": {"success": 2}, "b": {"success": 1}}, "success"),
        ({"a": {"success": 1, "failed": 1}, "b": {}}, "failed"),
        ({"a": {"skipped": 1}, "b": {"running": 1}}, "skipped"),
    ],
)
def test_tasks_of_another_dag_are_waited_for(answers: list[Any], last: dict[str, Any], expected: str) -> None:
    answers += [states(), states(("running", {"a": {"success": 2}, "b": {}})), states(("running", last))]
    trigger = WorkflowTrigger(
        "other",
        logical_dates=["2025-01-01"],
        external_task_ids=["a", "b"],
        failed_states=["failed"],
        skipped_states=["skipped"],
        poke_interval=SOON,
    )
    assert first_event(trigger).payload["status"] == expected


def test_runs_of_another_dag_are_waited_for(answers: list[Any]) -> None:
    answers += [states(("running", {})), states(("success", {}))]
    assert first_event(WorkflowTrigger("other", logical_dates=["2025-01-01"], poke_interval=SOON)).payload == {
        "status": "success",
        "states": {"success": 1},
    }
    answers[:] = [{}, {"r1": "running", "r2": "success"}, {"r1": "failed", "r2": "success"}]
    found = first_event(DagStateTrigger("other", ["r1", "r2"], poll_interval=SOON)).payload
    assert found == {"run_states": {"r1": "failed", "r2": "success"}}
