"""Questions of triggers while the server is away: restarted, it has failed none of them."""

from __future__ import annotations

from typing import Any, cast

import pytest

from treadle_triggerer import daemon
from treadle_triggerer.child import Child
from treadle_triggerer.daemon import Config, Triggerer
from treadle_triggerer.server import ServerUnavailable


class Loop:
    """Takes what is sent to the loop's process."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> bool:
        self.got.append(message)
        return True


class Away:
    """A server that does not answer the first ``times`` questions."""

    def __init__(self, times: int) -> None:
        self.times = times

    def ask(self, body: dict[str, Any]) -> str:
        self.times -= 1
        if self.times >= 0:
            raise ServerUnavailable("it is restarted")
        return f"answer to {body['op']}"


def asked(op: str, monkeypatch: pytest.MonkeyPatch, *, is_stopping: bool = False) -> dict[str, Any]:
    """Return the reply to a question of a loop whose server misses two."""
    monkeypatch.setattr(daemon, "_FIRST_PAUSE", 0.001)
    one = Triggerer(Config("http://127.0.0.1:1", "token", "", 10, {}))
    loop = Loop()
    monkeypatch.setattr(one, "_server", Away(2))
    monkeypatch.setattr(one, "_child", loop)
    if is_stopping:
        one.stop()
    one._answer(cast("Child", loop), {"number": 7, "trigger": 3, "op": op, "args": {}})
    (reply,) = loop.got
    return reply


def test_a_question_is_asked_until_the_server_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked("get_states", monkeypatch) == {"kind": "reply", "number": 7, "result": "answer to get_states"}


def test_what_may_be_done_once_only_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for op in ("start_callback", "of_callback"):
        assert asked(op, monkeypatch) == {"kind": "reply", "number": 7, "error": "it is restarted"}


def test_a_triggerer_that_stops_asks_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "error" in asked("get_states", monkeypatch, is_stopping=True)
