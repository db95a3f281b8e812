"""What a task child's ``sys.stdout``, ``sys.stderr`` and root logger become: writers of JSON log lines.

They write to the attempt's file directly, so a print costs the host nothing. Descriptors 1 and 2 stay what they are
(pipes to the host), for subprocesses and C code; ``fileno()`` and ``buffer`` lead there.
"""

from __future__ import annotations

import io
import logging
import sys
import threading
import traceback
from collections.abc import Iterable
from typing import Any

from treadle_worker.task_log import MAX_LINE_BYTES, TaskLog


class LogStream(io.TextIOBase):
    """A text stream whose complete lines become log entries; a rest is written by ``flush_rest``."""

    def __init__(self, log: TaskLog, source: str, level: str, descriptor: int) -> None:
        self._log = log
        self._source = source
        self._level = level
        self._descriptor = descriptor
        self._rest = ""
        self._lock = threading.RLock()
        self._buffer: io.FileIO | None = None

    encoding = "utf-8"
    errors = "replace"

    @property
    def buffer(self) -> io.FileIO:
        """A binary stream onto the descriptor itself; the host logs what is written there."""
        if self._buffer is None:
            self._buffer = io.FileIO(self._descriptor, "wb", closefd=False)
        return self._buffer

    def write(self, text: str) -> int:
        """Take ``text``; write an entry for each line that it completes."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        with self._lock:
            if "\n" not in text and len(self._rest) + len(text) < MAX_LINE_BYTES:
                self._rest += text
                return len(text)
            *lines, self._rest = (self._rest + text).split("\n")
            for line in lines:
                self._log.write(self._level, self._source, line)
            if len(self._rest) >= MAX_LINE_BYTES:
                self.flush_rest()
        return len(text)

    def writelines(self, lines: Iterable[Any]) -> None:
        """Write each of ``lines``."""
        for line in lines:
            self.write(line)

    def flush_rest(self) -> None:
        """Write what has no line end yet; the attempt is over."""
        with self._lock:
            rest, self._rest = self._rest, ""
            if rest:
                self._log.write(self._level, self._source, rest)

    def fileno(self) -> int:
        """Return 1 or 2: where subprocesses write."""
        return self._descriptor

    def isatty(self) -> bool:
        """Return False."""
        return False

    def readable(self) -> bool:
        """Return False."""
        return False

    def writable(self) -> bool:
        """Return True."""
        return True


class LogHandler(logging.Handler):
    """Turns logging records into log entries."""

    def __init__(self, log: TaskLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record with its logger and traceback."""
        try:
            exc = "".join(traceback.format_exception(*record.exc_info)) if record.exc_info else None
            level, text = record.levelname.lower(), record.getMessage()
            self._log.write(level, "task", text, logger=record.name, exc=exc, seconds=record.created)
        except Exception:
            self.handleError(record)


class Capture:
    """Directs this process's prints and logging to ``log``.

    It is set up in the zygote, so that a child finds everything in place and only names its file.
    """

    def __init__(self, log: TaskLog) -> None:
        self.log = log
        self._out = LogStream(log, "stdout", "info", 1)
        self._err = LogStream(log, "stderr", "error", 2)
        self._handlers: list[logging.Handler] = [LogHandler(log)]

    def begin(self, path: str) -> None:
        """Write to ``path`` from now on, whatever the DAG file has made of logging and the streams."""
        self.log.path = path
        sys.stdout, sys.stderr = self._out, self._err
        root = logging.root
        if root.handlers != self._handlers:
            root.handlers = self._handlers[:]
        if root.level != logging.INFO:
            root.setLevel(logging.INFO)

    def end(self) -> None:
        """Write unfinished lines, and close the file."""
        self._out.flush_rest()
        self._err.flush_rest()
        self.log.close()
