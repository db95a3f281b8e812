"""Questions of tasks that have gathered are answered together, and one that is refused costs no other its answer."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, cast

from tests.support.waiting import wait_until

from treadle_executors.execution_api import Answers, Batch
from treadle_executors.host_process import HostProcess
from treadle_executors.questions import Questions
from treadle_metadata.errors import InvalidRequestError
from treadle_worker.protocol import Request


class _Execution:
    """Answers a connection's name; its first answer waits for ``free``, and ``bad`` is refused."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.together: list[int] = []

    def record(self, batch: Batch) -> Answers:
        raise AssertionError(batch)

    def answer(self, request: Request) -> Any:
        self.free.wait(10)
        if request["args"]["conn_id"] == "bad":
            raise InvalidRequestError("it is refused")
        return request["args"]["conn_id"]

    def answer_together(self, requests: Sequence[Request]) -> list[Any]:
        self.together.append(len(requests))
        return [self.answer(one) for one in requests]


class _Host:
    def __init__(self) -> None:
        self.replies: dict[int, Any] = {}

    def send(self, message: dict[str, Any]) -> None:
        self.replies[message["id"]] = message.get("result", message.get("error"))


def _asked(*names: str) -> tuple[_Execution, _Host]:
    """Ask for connections: the first alone, the others while it is being answered."""
    execution, host = _Execution(), _Host()
    questions = Questions(execution, 5.0, threading.Event())
    questions.start()
    for number, name in enumerate(names):
        args = {"conn_id": name}
        request = {"kind": "request", "id": number, "op": "get_connection", "args": args}
        questions.ask(cast("Request", request), cast("HostProcess", host))
    execution.free.set()
    wait_until(lambda: len(host.replies) == len(names))
    questions.end()
    return execution, host


def test_questions_that_have_gathered_are_answered_together() -> None:
    """However many are there when the thread comes to look, none is asked twice, and each has its own answer."""
    execution, host = _asked("a", "b", "c", "d")
    assert host.replies == {0: "a", 1: "b", 2: "c", 3: "d"}
    assert sum(execution.together) in (3, 4)


def test_a_refused_question_does_not_cost_the_others_their_answers() -> None:
    """What is refused together is asked one by one."""
    _, host = _asked("a", "bad", "c")
    assert host.replies == {0: "a", 1: "it is refused", 2: "c"}
