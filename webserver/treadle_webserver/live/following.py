"""Follows a task's log: its lines as they are written, until its attempt has ended and all of them were sent.

A log in this machine's folder is looked at several times a second, which costs a look at its size; one of a remote
store less often. What is read is sent before more is read, so a slow reader costs no memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fastapi.concurrency import run_in_threadpool

from treadle_metadata.queries.log_windows import LineIndexes, Window, read_window
from treadle_metadata.remote_logs.places import LogFile
from treadle_webserver.live.ring import message
from treadle_webserver.live.streams import HEARTBEAT, HEARTBEAT_SECONDS

LINES: Final = 2_000
"""Lines that one event carries at most."""
LOOK_SECONDS: Final = 0.2
REMOTE_LOOK_SECONDS: Final = 2.0
ASK_SECONDS: Final = 2.0
"""Time between two questions whether the attempt has ended."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A log that is followed. ``find`` finds its file anew, ``has_ended`` tells whether its attempt is over."""

    name: str
    find: Callable[[], LogFile]
    has_ended: Callable[[], bool]
    shape: Callable[[dict[str, Any]], dict[str, Any]]


async def follow(
    log: Followed, indexes: LineIndexes, first: int, is_closed: Callable[[], bool]
) -> AsyncIterator[bytes]:
    """Yield the lines from number ``first`` on as events ``lines``, and ``end`` after the last one."""
    clock = asyncio.get_running_loop().time
    told_at, asked_at, ended = clock(), clock() - ASK_SECONDS, False
    watch = _Watch(log)
    while not is_closed():
        if await watch.may_have_grown():
            window = await run_in_threadpool(read_window, watch.file, log.name, indexes, first, LINES)
            if window.lines:
                first, told_at = window.first + len(window.lines), clock()
                yield message("lines", _content(window, log), str(first))
                watch.look_again()
                # Also a log that is far from its end is for those only who may still read it.
                if clock() - asked_at >= ASK_SECONDS:
                    asked_at, ended = clock(), await run_in_threadpool(log.has_ended)
                continue
        if ended:
            yield message("end", {"lines": first}, str(first))
            return
        if clock() - asked_at >= ASK_SECONDS:
            asked_at, ended = clock(), await run_in_threadpool(log.has_ended)
            # What was written before the end is looked for once more after it.
            watch.look_again()
            if ended:
                continue
        await asyncio.sleep(watch.pause)
        if clock() - told_at >= HEARTBEAT_SECONDS:
            told_at = clock()
            yield HEARTBEAT


class _Watch:
    """Tells cheaply whether a log may have grown since the last look."""

    def __init__(self, log: Followed) -> None:
        self._log = log
        self._size: int | None = None
        self.file: LogFile = Path()

    async def may_have_grown(self) -> bool:
        if self._size is None or not isinstance(self.file, Path):
            self.file = await run_in_threadpool(self._log.find)
        size = size_of(self.file)
        grown = size is None or size != self._size
        self._size = size
        return grown

    def look_again(self) -> None:
        self._size = None

    @property
    def pause(self) -> float:
        return LOOK_SECONDS if isinstance(self.file, Path) else REMOTE_LOOK_SECONDS


def size_of(file: LogFile) -> int | None:
    """Return the size of a log of this machine, 0 if there is none; None of one that lies elsewhere."""
    if not isinstance(file, Path):
        return None
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _content(window: Window, log: Followed) -> dict[str, Any]:
    return {"first": window.first, "lines": [log.shape(line) for line in window.lines]}
