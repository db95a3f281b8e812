"""A trigger that waits for a process on the triggerer's machine to end, without polling where Linux allows that."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

from treadle.triggers.base import BaseTrigger, TriggerEvent
from treadle.triggers.polling import pause


class ProcessExitTrigger(BaseTrigger):
    """Waits until process ``pid`` is over; the event is the pid.

    A pid comes again: ``started`` (the start time that /proc tells, found out by itself if the process lives) makes
    sure that the wait is for the same process, also after the triggerer was restarted. It must be one of the same
    machine, and of the same PID namespace.
    """

    def __init__(self, pid: int, *, started: int | None = None) -> None:
        self.pid = int(pid)
        self.started = start_of(self.pid) if started is None else started

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return path and arguments."""
        return "treadle.triggers.process.ProcessExitTrigger", {"pid": self.pid, "started": self.started}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait for its end."""
        await self._end()
        yield TriggerEvent({"pid": self.pid})

    async def _end(self) -> None:
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        except OSError:
            while self._lives():
                await pause(1.0)
            return
        try:
            if self._lives():
                await _readable(descriptor)
        finally:
            os.close(descriptor)

    def _lives(self) -> bool:
        return self.started is not None and start_of(self.pid) == self.started


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)


def start_of(pid: int) -> int | None:
    """Return when a process started, in ticks since the machine did; None if it is over."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            content = file.read()
    except OSError:
        return None
    fields = content[content.rfind(b")") + 2 :].split()
    return None if fields[0] == b"Z" else int(fields[19])
