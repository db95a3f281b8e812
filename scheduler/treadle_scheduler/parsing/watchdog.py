"""Sees to a parse child from inside: its time limit, and the top-level lines of the file that cost time.

A thread, so that it works whatever the file does with signals. It looks now and then where the main thread is: the
line of the DAG file itself that is being executed, however deep the call below it (case G1). At the limit it hands that
line and the whole stack to ``on_timeout``. Code that never lets go of the interpreter is killed by the parent instead.
"""

from __future__ import annotations

import _thread
import sys
import time
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Final

FIRST_LOOK_SECONDS: Final = 0.2
LOOK_SECONDS: Final = 0.05
COSTLY_SECONDS: Final = 0.5
"""What a line must cost to be named."""

OnTimeout = Callable[[int | None, str], None]


class Watchdog:
    """Watches the thread that makes it, from :meth:`start` until :meth:`stop`."""

    def __init__(self, path: str, limit_seconds: float, on_timeout: OnTimeout) -> None:
        self._path = path
        self._limit = limit_seconds
        self._on_timeout = on_timeout
        self._watched = _thread.get_ident()
        # Held while the file runs. A bare lock and thread cost a tenth of what threading's do, in each parse.
        self._running = _thread.allocate_lock()
        self._costs: dict[int, float] = {}
        self._began = time.monotonic()

    def start(self) -> None:
        """Begin."""
        self._began = time.monotonic()
        self._running.acquire()
        _thread.start_new_thread(self._watch, ())

    def stop(self) -> dict[int, float]:
        """End; return the seconds that each line of the file cost, where that is worth telling."""
        self._running.release()
        return {line: cost for line, cost in sorted(self._costs.copy().items()) if cost >= COSTLY_SECONDS}

    def _watch(self) -> None:
        looked = self._began
        wait = FIRST_LOOK_SECONDS
        while not self._running.acquire(timeout=max(0.0, min(wait, self._began + self._limit - time.monotonic()))):
            wait = LOOK_SECONDS
            now = time.monotonic()
            frame = sys._current_frames().get(self._watched)
            line = _line_in(frame, self._path)
            if line is not None:
                self._costs[line] = self._costs.get(line, 0.0) + now - looked
            looked = now
            if now - self._began >= self._limit:
                self._on_timeout(line, "".join(traceback.format_stack(frame)) if frame is not None else "")
                return


def _line_in(frame: FrameType | None, path: str) -> int | None:
    """Return the line of ``path``'s own top level that the stack of ``frame`` stands on."""
    line = None
    while frame is not None:
        if frame.f_code.co_filename == path:
            line = frame.f_lineno
            if frame.f_code.co_name == "<module>":
                break
        frame = frame.f_back
    return line


def words_on(costs: dict[int, float], seconds: float, file: str) -> str | None:
    """Return a sentence on the costly lines, the worst first, or None if there are none."""
    if not costs:
        return None
    worst = sorted(costs.items(), key=lambda item: -item[1])[:5]
    listed = ", ".join(f"line {line} ({cost:.1f} s)" for line, cost in worst)
    return (
        f"{file} takes {seconds:.1f} s to import: {listed}. Move this work into a task: "
        "the file is imported for each parse and by each worker"
    )
