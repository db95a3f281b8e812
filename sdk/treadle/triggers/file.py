"""Triggers that wait for files which the triggerer's machine sees."""

from __future__ import annotations

import asyncio
import contextlib
import glob
import os
from collections.abc import AsyncIterator
from typing import Any

from treadle.triggers.base import BaseEventTrigger, BaseTrigger, TriggerEvent
from treadle.triggers.polling import pause, seconds_of


class FileTrigger(BaseTrigger):
    """Waits until a file is at ``filepath``, a path or pattern, or within a folder there; the event is its path.

    ``recursive`` lets ``**`` match any depth. It looks each ``poke_interval`` seconds.
    """

    def __init__(self, filepath: str, *, recursive: bool = False, poke_interval: float = 5.0) -> None:
        self.filepath = filepath
        self.recursive = recursive
        self.poke_interval = seconds_of(poke_interval)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return path and arguments."""
        return (
            "treadle.triggers.file.FileTrigger",
            {"filepath": self.filepath, "recursive": self.recursive, "poke_interval": self.poke_interval},
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look until it is there; in a thread, since a file system may be far away."""
        while (found := await asyncio.to_thread(found_at, self.filepath, recursive=self.recursive)) is None:
            await pause(self.poke_interval)
        yield TriggerEvent(found)


class FileDeleteTrigger(BaseEventTrigger):
    """Waits for a file at ``filepath`` and deletes it; as a watcher it makes one event of each file that comes."""

    def __init__(self, filepath: str, *, poke_interval: float = 5.0) -> None:
        self.filepath = filepath
        self.poke_interval = seconds_of(poke_interval)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return path and arguments."""
        kwargs = {"filepath": self.filepath, "poke_interval": self.poke_interval}
        return "treadle.triggers.file.FileDeleteTrigger", kwargs

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look, tell, and delete what was told of: it is deleted once its event is recorded."""
        while True:
            if await asyncio.to_thread(os.path.isfile, self.filepath):
                yield TriggerEvent({"filepath": self.filepath})
                with contextlib.suppress(FileNotFoundError):
                    await asyncio.to_thread(os.remove, self.filepath)
            await pause(self.poke_interval)


def found_at(path: str, *, recursive: bool) -> str | None:
    """Return the first path that matches and is a file, or a folder with a file in it."""
    matches = glob.iglob(path, recursive=recursive)
    return next((one for one in matches if os.path.isfile(one) or any(files for _, _, files in os.walk(one))), None)
