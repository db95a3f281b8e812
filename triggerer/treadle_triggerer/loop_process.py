"""The process that runs triggers: exec'ed by the triggerer with a scrubbed environment and one socket.

It runs users' code and holds no credential. It ends with its parent; what it ran runs elsewhere then, and no trigger is
told that it was cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import logging
import os
import socket
import sys
from collections.abc import Callable
from typing import Any, Final

from treadle.triggers import asking as asking_of_sdk
from treadle_triggerer import callbacks
from treadle_triggerer.asking import Asking
from treadle_triggerer.channel import Channel
from treadle_triggerer.marks import Marks
from treadle_triggerer.runner import Runner
from treadle_triggerer.watchdog import Blocked, Watchdog
from treadle_worker.frames import Message, encode
from treadle_worker.system import drop_power_to_trace, end_with_parent

TICK_SECONDS: Final = 1.0


class LoopProcess:
    """The loop's side of the conversation with the parent."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        watch: socket.socket,
        dags_folder: str,
        marks: Marks,
    ) -> None:
        self._loop = loop
        self._channel = Channel(sock, loop, self._heard, self._left_alone)
        self._runner = Runner(loop, dags_folder, self._channel.send, marks)
        self._asking = Asking(self._channel.send)
        self._watch = watch
        self._taking: asyncio.Task[None] | None = None
        self._over: asyncio.Future[None] = loop.create_future()
        self._watchdog = Watchdog(loop, self._tell_of)

    async def serve(self) -> None:
        """Run triggers until told to stop, or left alone."""
        asking_of_sdk.answer_with(self._asking.ask)
        root = logging.getLogger()
        root.addHandler(self._runner.lines)
        root.setLevel(logging.INFO)
        self._tick()
        self._watchdog.start()
        await self._over
        await self._runner.end()
        self._channel.send({"kind": "stopped"})
        await self._channel.flush()

    def _tick(self) -> None:
        self._channel.send({"kind": "tick", "held": self._runner.held})
        self._loop.call_later(TICK_SECONDS, self._tick)

    def _heard(self, message: Message) -> None:
        match message["kind"]:
            case "orders":
                self._taking = self._loop.create_task(self._obey(message), name="orders")
            case "recorded":
                self._runner.recorded(message["numbers"])
            case "reply":
                self._asking.answered(message)
            case "stop":
                self._stop()

    async def _obey(self, orders: Message) -> None:
        """Do what a beat brought, and say so: the parent asks for more only then."""
        if orders.get("drop_all"):
            self._runner.drop(None)
        await self._runner.take(orders["triggers"], orders["files"])
        for one in orders["cancelled"]:
            self._runner.cancel(one["id"], one["cancelled_for"])
        if orders["owned"] is not None:
            self._runner.compare(orders["owned"])
        if orders["excess"]:
            self._runner.give_back(orders["excess"])
        self._channel.send({"kind": "obeyed", "held": self._runner.held})

    def _stop(self) -> None:
        if not self._over.done():
            self._over.set_result(None)

    def _left_alone(self) -> None:
        self._stop()

    def _tell_of(self, blocked: Blocked) -> None:
        """Say what blocks the loop; called in the watchdog's thread, since the loop does not turn."""
        known = self._runner.describe(blocked.task)
        trigger, classpath = known or (0, blocked.task)
        told = {"trigger": trigger, "classpath": classpath, "where": blocked.where, "seconds": blocked.seconds}
        with contextlib.suppress(OSError):
            self._watch.sendall(encode({"kind": "blocked", **told}))


def new_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's loop if it is installed, asyncio's if not."""
    try:
        factory: Callable[[], Any] = importlib.import_module("uvloop").new_event_loop
    except ImportError:
        factory = asyncio.new_event_loop
    loop: asyncio.AbstractEventLoop = factory()
    return loop


def main(arguments: list[str]) -> int:
    """Run triggers for the parent on descriptor ``arguments[0]``; ``arguments[2]`` is the DAGs folder.

    On descriptor ``arguments[1]`` the watchdog speaks, whose words cannot wait for the loop; on ``arguments[3]`` is the
    memory in which it is noted whose code runs.
    """
    end_with_parent()
    drop_power_to_trace()
    sock = socket.socket(fileno=int(arguments[0]))
    watch = socket.socket(fileno=int(arguments[1]))
    for one in (sock, watch):
        one.set_inheritable(False)
    marks = Marks(int(arguments[3]))
    os.close(int(arguments[3]))  # the memory stays mapped
    sys.path.insert(0, arguments[2])
    callbacks.FOLDER[:] = [arguments[2]]
    loop = new_loop()
    loop.set_task_factory(marks.task_factory)
    loop.set_default_executor(marks.executor())
    asyncio.set_event_loop(loop)
    # What is loaded now stays; collecting looks at triggers alone.
    gc.freeze()
    try:
        loop.run_until_complete(LoopProcess(loop, sock, watch, arguments[2], marks).serve())
    finally:
        sock.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
