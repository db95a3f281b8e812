"""What triggers log, told apart: each record goes to the log of the task whose trigger made it.

A trigger runs in a context of its own, which names it; what is logged outside of any, or by libraries' threads, goes to
the triggerer's own lines.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from treadle.runtime.masking import MASKER
from treadle_worker.task_log import MAX_LINE_BYTES, timestamp

CURRENT: Final[ContextVar[int | None]] = ContextVar("trigger", default=None)
"""The id of the trigger whose code runs."""

MOST_BYTES: Final = 256 * 1024
"""What one trigger may have waiting to be sent; more is left out, and that is said."""


class Lines(logging.Handler):
    """Collects lines of JSON by trigger; ``on_line`` is called, in any thread, when there is something to send."""

    def __init__(self, on_line: Callable[[], None]) -> None:
        super().__init__(logging.INFO)
        self._on_line = on_line
        self._gathered: dict[int, list[str]] = {}
        self._sizes: dict[int, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record of a trigger's, or write it to standard error."""
        trigger = CURRENT.get()
        if trigger is None:
            self._own(record)
            return
        try:
            line = line_of(record)
        except Exception:
            self.handleError(record)
            return
        size = self._sizes.get(trigger, 0)
        if size > MOST_BYTES:
            return
        if size + len(line) > MOST_BYTES:
            line = _line("warning", "the trigger logs more than can be sent; some of it is left out", record.created)
        self._sizes[trigger] = size + len(line)
        self._gathered.setdefault(trigger, []).append(line)
        self._on_line()

    def _own(self, record: logging.LogRecord) -> None:
        last = logging.lastResort
        if last is not None and record.levelno >= last.level:
            last.handle(record)

    def take(self) -> list[dict[str, object]]:
        """Return what was gathered (``id`` and ``text``), and forget it."""
        gathered, self._gathered, self._sizes = self._gathered, {}, {}
        return [{"id": trigger, "text": "".join(lines)} for trigger, lines in gathered.items()]


def line_of(record: logging.LogRecord) -> str:
    """Return the line of a record, as logs of tasks have them."""
    text = MASKER.mask(record.getMessage())[:MAX_LINE_BYTES]
    extra = {"logger": record.name}
    if record.exc_info and record.exc_info[0] is not None:
        extra["exc"] = MASKER.mask("".join(traceback.format_exception(*record.exc_info)))[:MAX_LINE_BYTES]
    return _line(record.levelname.lower(), text, record.created, **extra)


def _line(level: str, text: str, seconds: float, **extra: str) -> str:
    line = {"time": timestamp(seconds), "level": level, "source": "trigger", "text": text, **extra}
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n"
