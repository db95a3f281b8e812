"""Logs of worker machines go through any web server into the remote store; the workers hold no credentials for it."""

from __future__ import annotations

import base64
import errno
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.moody_store import Moody, moody_store
from tests.support.web import Client, client_of

from treadle_executors.log_sending import LogSending
from treadle_metadata import attempt_logs
from treadle_metadata.connection import Database
from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.queries import logs
from treadle_metadata.remote_logs.places import LogFile, places_of
from treadle_metadata.settings import Settings
from treadle_metadata.statements import tuples
from treadle_webserver.app import create_app


class Server:
    """One web server, on a machine of its own."""

    def __init__(self, client: Client, settings: Settings, sending: LogSending, database: Database) -> None:
        self.client = client
        self.settings = settings
        self.sending = sending
        self.database = database

    def send(self, attempt: AttemptRef, token: str, offset: int, data: bytes = b"") -> Any:
        """Send a part of a log as a worker does; return the size that the server has by then, or the error's status."""
        part = {"attempt_id": str(attempt.attempt_id), "token": token, "offset": offset}
        body = {"parts": [part | {"data": base64.b64encode(data).decode()}]}
        answer = self.client.post("/execution/v1/logs", json=body, headers={"Authorization": f"Bearer {token}"})
        return answer.json()["sizes"].get(str(attempt.attempt_id)) if answer.status_code == 200 else answer.status_code

    def log(self, attempt: AttemptRef) -> LogFile:
        """Return where this server reads the log of an attempt."""
        with self.database.begin() as connection:
            (target,) = attempt_logs.targets(connection, [attempt], self.settings.path("logs_folder")).values()
        return places_of(self.settings).find(target.stored, target.month)

    def lines(self, attempt: AttemptRef) -> list[str]:
        """Return the lines of a log as this server reads it."""
        return [line["text"] for line in logs.iterate(self.log(attempt))]


@pytest.fixture
def serve(worker: Any, settings: Settings, database: Database, tmp_path: Path) -> Iterator[Callable[[str], Server]]:
    """Make web servers by their names, each with a logs folder of its own, with one store for all."""
    opened = []
    with moody_store() as address:

        def make(name: str) -> Server:
            own = replace(settings, remote_logs=address, logs_folder=tmp_path / name)
            app = create_app(own, database, clock=worker.clock)
            client = client_of(app)
            opened.append(client)
            return Server(client.__enter__(), own, app.state.service.sending, database)

        yield make
        for one in opened:
            one.__exit__(None, None, None)


def test_parts_that_come_to_several_web_servers_make_one_log_that_each_of_them_reads(
    worker: Any, serve: Callable[[str], Server]
) -> None:
    here, there = serve("here"), serve("there")
    attempt, token = worker.start("a")
    assert here.send(attempt, token, 0) == 0
    assert here.send(attempt, token, 0, b"one\n") == 4
    assert there.send(attempt, token, 4, b"two\n") == 0  # not in the store yet: the worker goes on from there
    here.sending.flush()
    assert there.lines(attempt) == ["one"]
    assert there.send(attempt, token, 4, b"two\n") == 8
    there.sending.flush()
    assert here.lines(attempt) == ["one", "two"]


def test_a_log_that_ended_is_one_object_and_what_comes_late_is_added_all_the_same(
    worker: Any, serve: Callable[[str], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treadle_executors.log_sending._QUIET_SECONDS", -1.0)
    server = serve("here")
    attempt, token = worker.start("a")
    server.send(attempt, token, 0, b"one\n")
    server.sending._ask()
    server.sending.flush()
    assert server.sending.left() == 1  # it runs
    worker.finish(attempt, token)
    server.sending._ask()
    server.sending.flush()
    assert server.sending.left() == 0
    assert [one.name for one in server.settings.logs_folder.iterdir()] == [".to-send"]
    assert server.send(attempt, token, 4, b"the last\n") == 13
    server.sending.flush()
    assert server.lines(attempt) == ["one", "the last"]


def test_a_try_that_was_handed_back_goes_on_in_its_log_through_another_web_server(
    worker: Any, serve: Callable[[str], Server]
) -> None:
    here, there = serve("here"), serve("there")
    attempt, token = worker.start("b")
    here.send(attempt, token, 0, b"one\n")
    here.sending.flush()
    worker.finish(attempt, token, outcome="handed_back", error={"kind": "lost", "type": "x", "message": "stopped"})
    worker.scheduler.beats()
    with worker.scheduler.database.begin() as connection:
        ((newer, number),) = tuples(
            connection,
            "SELECT attempt_id, try_number FROM task_attempt WHERE outcome IS NULL AND log_path LIKE '%%/b/%%'",
        )
    again = AttemptRef(newer, attempt.task_instance_id, attempt.month)
    assert number == 1
    assert there.send(again, worker.token(again), 0) == 4
    assert there.send(again, worker.token(again), 4, b"two\n") == 8
    assert there.lines(again) == ["one", "two"]


def test_a_store_that_is_away_costs_the_workers_nothing_but_what_only_it_has(
    worker: Any, serve: Callable[[str], Server]
) -> None:
    here, there = serve("here"), serve("there")
    attempt, token = worker.start("a")
    here.send(attempt, token, 0, b"one\n")
    Moody.is_away = True
    here.sending.flush()
    assert here.send(attempt, token, 4, b"two\n") == 8
    assert here.lines(attempt) == ["one", "two"]
    assert there.send(attempt, token, 8, b"three\n") == 503
    Moody.is_away = False
    here.sending.flush()
    assert there.send(attempt, token, 8, b"three\n") == 14


def test_a_web_server_without_room_keeps_what_it_has_and_says_so(
    worker: Any, serve: Callable[[str], Server], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve("here")
    attempt, token = worker.start("a")
    assert server.send(attempt, token, 0, b"one\n") == 4

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("treadle_metadata.attempt_logs.os.pwrite", full)
        assert server.send(attempt, token, 4, b"two\n") == 4
    assert "no room for logs of worker machines" in caplog.text
    assert "No space left on device" in caplog.text
    assert server.send(attempt, token, 4, b"two\n") == 8
