"""Triggers that note in a file what happens to them; the processes of triggerers import this module."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import threading
from collections.abc import AsyncIterator
from typing import Any

from treadle.triggers.base import BaseEventTrigger, TriggerEvent
from treadle.triggers.polling import pause


class Noting(BaseEventTrigger):
    """Waits for a file ``go-NAME`` beside its notes; or blocks the loop, cannot be made, ends the process (``how``)."""

    def __init__(self, notes: str, name: str, how: str = "wait") -> None:
        self.notes = notes
        self.name = name
        self.how = how
        if how == "refuse":
            raise ValueError("it cannot be made")

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return path and arguments."""
        return f"{__name__}.Noting", {"notes": self.notes, "name": self.name, "how": self.how}

    def note(self, what: str) -> None:
        """Append a line."""
        with open(self.notes, "a") as file:
            file.write(json.dumps({"name": self.name, "what": what, "pid": os.getpid()}) + "\n")

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait."""
        self.note("runs")
        self.log.info("%s waits", self.name)
        if self.how == "block":
            threading.Event().wait(120)
        if self.how == "exit":
            os._exit(3)
        if self.how == "segfault":
            await asyncio.gather(asyncio.to_thread(ctypes.string_at, 0))
        while not os.path.exists(os.path.join(os.path.dirname(self.notes), f"go-{self.name}")):
            await pause(0.02)
        yield TriggerEvent(self.name)

    async def on_cancel(self) -> None:
        """Note it."""
        self.note("cancelled")
