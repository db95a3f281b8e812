"""Where a daemon's log lines go: ``$TREADLE_HOME/daemons/NAME.log``, and warnings also to the terminal.

Lines are short: time, daemon, level, message. A traceback is for the file alone; the terminal gets its last line.
"""

from __future__ import annotations

import logging
import logging.handlers
import os
import sys
from pathlib import Path
from typing import Final, TextIO

FILE_BYTES: Final = 10_000_000
KEPT_FILES: Final = 3


class Lines(logging.Formatter):
    """Formats a record as ``2026-01-15 12:00:00.123  scheduler  INFO  message``, with its traceback if wanted."""

    def __init__(self, daemon: str, *, with_traceback: bool) -> None:
        super().__init__(f"%(asctime)s.%(msecs)03d  {daemon}  %(levelname)s  %(message)s", "%Y-%m-%d %H:%M:%S")
        self._with_traceback = with_traceback

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of ``record``: with its traceback, or in one line."""
        if self._with_traceback:
            return super().format(record)
        plain = logging.makeLogRecord(record.__dict__ | {"exc_info": None, "exc_text": None, "stack_info": None})
        error = record.exc_info[1] if record.exc_info else None
        lines = [_first_line(super().format(plain))] + ([_first_line(str(error))] if error else [])
        return ": ".join(line for line in lines if line)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def to_terminal(daemon: str, stream: TextIO, level: int) -> None:
    """Send the lines of this process from ``level`` on to ``stream``, in place of whatever was set up before."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(Lines(daemon, with_traceback=level < logging.WARNING))
    handler.setLevel(level)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)


def to_file(daemon: str, folder: Path) -> None:
    """Send the lines of this process, and all else that it prints, to its file; warnings also to the terminal."""
    # A copy of stderr: the original is about to become the file.
    terminal = os.fdopen(os.dup(sys.stderr.fileno()), "w", buffering=1)
    to_terminal(daemon, terminal, logging.WARNING)
    path = folder / f"{daemon}.log"
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=FILE_BYTES, backupCount=KEPT_FILES, encoding="utf-8")
    handler.setFormatter(Lines(daemon, with_traceback=True))
    logging.getLogger().addHandler(handler)
    sys.stdout.flush()
    sys.stderr.flush()
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    for descriptor in (1, 2):
        os.dup2(file, descriptor)
    os.close(file)
