"""Logs of a worker machine reach the server whole, whatever the server does meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from treadle_executors import log_shipping
from treadle_executors.execution_api import ExecutionUnavailable
from treadle_executors.http_execution import HttpExecution, LogPart
from treadle_executors.log_shipping import LogShipping


class Server:
    """Keeps logs as the Execution API does; it can be away, full, or lose what it had."""

    def __init__(self) -> None:
        self.logs: dict[str, bytes] = {}
        self.refused: set[str] = set()
        self.is_away = False
        self.is_full = False
        self.requests = 0

    def send_logs(self, parts: Sequence[LogPart]) -> dict[str, int]:
        """Write parts and return the sizes."""
        self.requests += 1
        if self.is_away:
            raise ExecutionUnavailable("away")
        for part in parts:
            log = self.logs.setdefault(part.attempt_id, b"")
            if not self.is_full and part.offset <= len(log):
                self.logs[part.attempt_id] = log[: part.offset] + part.data + log[part.offset + len(part.data) :]
        return {one.attempt_id: len(self.logs[one.attempt_id]) for one in parts if one.attempt_id not in self.refused}


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def shipping(server: Server) -> LogShipping:
    return LogShipping(cast("HttpExecution", server))


def follow(shipping: LogShipping, path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    shipping.follow(path.name, path, "token")
    return path


def test_a_log_is_sent_as_it_grows_and_its_file_goes_when_all_of_it_is_there(
    shipping: LogShipping, server: Server, tmp_path: Path
) -> None:
    path = follow(shipping, tmp_path / "a", b"one\n")
    shipping.flush()
    assert server.logs == {"a": b"one\n"}
    path.write_bytes(b"one\ntwo\n")
    shipping.over("a")
    shipping.flush()
    assert server.logs == {"a": b"one\ntwo\n"}
    assert not path.exists()


def test_what_has_no_room_in_one_request_is_sent_with_the_next(
    shipping: LogShipping, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_shipping, "_LARGEST_PART", 10)
    monkeypatch.setattr(log_shipping, "_LARGEST_REQUEST", 15)
    for name in "abcd":
        follow(shipping, tmp_path / name, name.encode() * 25)
        shipping.over(name)
    shipping.flush()
    assert server.logs == {name: name.encode() * 25 for name in "abcd"}
    assert list(tmp_path.iterdir()) == []


def test_a_try_that_goes_on_elsewhere_writes_behind_what_is_there(
    shipping: LogShipping, server: Server, tmp_path: Path
) -> None:
    server.logs["a"] = b"before\n"
    follow(shipping, tmp_path / "a", b"after\n")
    shipping.flush()
    assert server.logs["a"] == b"before\nafter\n"


def test_a_server_that_is_away_has_all_of_it_later(shipping: LogShipping, server: Server, tmp_path: Path) -> None:
    follow(shipping, tmp_path / "a", b"one\n")
    shipping.over("a")
    server.is_away = True
    shipping.flush()
    server.is_away = False
    shipping.flush()
    assert server.logs == {"a": b"one\n"}


def test_a_server_without_room_is_asked_once_a_turn_and_gets_it_later(
    shipping: LogShipping, server: Server, tmp_path: Path
) -> None:
    path = follow(shipping, tmp_path / "a", b"one\n")
    shipping.over("a")
    server.is_full = True
    shipping.flush()
    assert server.requests <= 3
    assert path.exists()
    server.is_full = False
    shipping.flush()
    assert server.logs == {"a": b"one\n"}


def test_a_server_that_has_lost_a_log_gets_it_again(shipping: LogShipping, server: Server, tmp_path: Path) -> None:
    path = follow(shipping, tmp_path / "a", b"one\n")
    shipping.flush()
    server.logs["a"] = b""
    path.write_bytes(b"one\ntwo\n")
    shipping.flush()
    shipping.flush()
    assert server.logs["a"] == b"one\ntwo\n"


def test_a_log_that_the_server_refuses_is_forgotten(shipping: LogShipping, server: Server, tmp_path: Path) -> None:
    path = follow(shipping, tmp_path / "a", b"one\n")
    server.refused.add("a")
    shipping.flush()
    assert not path.exists()
