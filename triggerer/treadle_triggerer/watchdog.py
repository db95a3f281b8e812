"""Finds the trigger that blocks the event loop, and the line where it does.

A thread of the loop's process looks whether the loop still turns. Time counts only as far as the thread itself got
its turn, so a machine that is stopped, asleep or starved is nobody's fault (case D9). What is called is told of once;
the parent ends the process when it has gone on for too long.
"""

from __future__ import annotations

import asyncio
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Final

LOOK_SECONDS: Final = 0.1
WARN_SECONDS: Final = 1.0

_OURS: Final = (
    os.path.dirname(os.path.abspath(__file__)),
    os.path.join(sysconfig.get_paths()["stdlib"], "asyncio"),
)
_LIBRARIES: Final = (*_OURS, *(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")))


@dataclass(frozen=True, slots=True)
class Blocked:
    """What blocks the loop: the name of the task that runs (a trigger's id), and where it is."""

    task: str
    where: str
    seconds: float


class Watchdog:
    """Looks at the loop from a thread; ``on_blocked`` is called there, again whenever it has gone on twice as long."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_blocked: Callable[[Blocked], None]) -> None:
        self._loop = loop
        self._on_blocked = on_blocked
        self._turns = 0
        self._main = threading.get_ident()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin; called in the loop's thread."""
        self._turn()
        self._thread.start()

    def _turn(self) -> None:
        self._turns += 1
        self._loop.call_later(LOOK_SECONDS * 2, self._turn)

    def _watch(self) -> None:
        seen, blocked, told_at = self._turns, 0.0, WARN_SECONDS
        while True:
            began = time.monotonic()
            time.sleep(LOOK_SECONDS)
            if self._turns != seen:
                seen, blocked, told_at = self._turns, 0.0, WARN_SECONDS
                continue
            blocked += min(time.monotonic() - began, LOOK_SECONDS * 2)
            if blocked >= told_at:
                told_at *= 2
                found = self._culprit(blocked)
                if found is not None:
                    self._on_blocked(found)

    def _culprit(self, seconds: float) -> Blocked | None:
        """Return what runs in the loop's thread; None if it is nothing of a trigger's."""
        task = asyncio.current_task(self._loop)
        frame = sys._current_frames().get(self._main)
        if task is None or frame is None:
            return None
        return Blocked(task.get_name(), place_of(frame), seconds)


def place_of(frame: FrameType) -> str:
    """Return file, line and function of the innermost frame of users' code; of a library's, if there is none."""
    found = _innermost(frame, _LIBRARIES) or _innermost(frame, _OURS) or frame
    return f"{found.f_code.co_filename}, line {found.f_lineno}, in {found.f_code.co_name}"


def _innermost(frame: FrameType, passed_over: tuple[str, ...]) -> FrameType | None:
    at: FrameType | None = frame
    while at is not None and at.f_code.co_filename.startswith(passed_over):
        at = at.f_back
    return at
