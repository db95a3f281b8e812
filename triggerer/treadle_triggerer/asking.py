"""Questions of triggers, sent to the parent, which asks the Execution API: the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from treadle.errors import TreadleError
from treadle_triggerer.capture import CURRENT
from treadle_worker.frames import Message


class AnswerError(TreadleError):
    """The server refused a question of a trigger, or could not be asked."""


class Asking:
    """The questions under way."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._last = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}

    async def ask(self, op: str, args: Mapping[str, Any]) -> Any:
        """Return the answer to a question.

        Raises:
            AnswerError: it was refused.
        """
        self._last += 1
        number = self._last
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        question = {"number": number, "trigger": CURRENT.get() or 0, "op": op, "args": dict(args)}
        self._send({"kind": "ask", **question})
        try:
            return await answer
        finally:
            self._waiting.pop(number, None)

    def answered(self, message: Message) -> None:
        """Hand an answer to whoever waits for it."""
        waiting = self._waiting.get(message["number"])
        if waiting is None or waiting.done():
            return
        if "error" in message:
            waiting.set_exception(AnswerError(message["error"]))
        else:
            waiting.set_result(message.get("result"))
