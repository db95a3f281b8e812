"""Masks what Python code prints and logs while a block lasts, for ``dag.test()``, ``tasks test`` and DAG files read
by commands: there the output goes to a terminal or to a test runner, and no runner host stands between (case F16).

Covered are ``sys.stdout``, ``sys.stderr`` and records of every logger. Not covered is what passes them by: processes
that a task starts by itself, C code, ``sys.stdout.buffer``, ``os.write``. The streams are put back however it ends.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from treadle.runtime import masking


class MaskedStream:
    """Hands complete lines on to ``stream``, masked; a rest waits for its end, for ``flush()`` or the block's end.

    Whole lines, since a secret may come in several writes.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rest = ""
        self._lock = threading.RLock()

    def write(self, text: str) -> int:
        """Take ``text`` and hand on the lines that it completes."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        with self._lock:
            lines, end, rest = (self._rest + text).rpartition("\n")
            self._rest = rest
            if end:
                self._stream.write(masking.mask(lines + end))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of ``lines``."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Hand on what has no line end yet."""
        with self._lock:
            rest, self._rest = self._rest, ""
            if rest:
                self._stream.write(masking.mask(rest))
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def masked_output() -> Iterator[None]:
    """Mask ``sys.stdout``, ``sys.stderr`` and log records while the block lasts."""
    before = (sys.stdout, sys.stderr)
    make_record = logging.getLogRecordFactory()

    def make_masked(*args: Any, **kwargs: Any) -> logging.LogRecord:
        return _mask_record(make_record(*args, **kwargs))

    out, err = (None if stream is None else MaskedStream(stream) for stream in before)
    sys.stdout, sys.stderr = cast("TextIO", out), cast("TextIO", err)
    logging.setLogRecordFactory(make_masked)
    try:
        yield
    finally:
        logging.setLogRecordFactory(make_record)
        sys.stdout, sys.stderr = before
        for masked in (out, err):
            if masked is not None:
                masked.flush()


def _mask_record(record: logging.LogRecord) -> logging.LogRecord:
    """Mask a record's text and traceback before any handler sees them; one without a secret stays as it is."""
    try:
        text = record.getMessage()
    except Exception:
        # The handler reports the wrong arguments, on standard error.
        return record
    if (masked := masking.mask(text)) != text:
        record.msg, record.args = masked, ()
    if record.exc_info and record.exc_info[0] is not None:
        trace = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if (masked := masking.mask(trace)) != trace:
            # A formatter takes this text for the traceback when it is there.
            record.exc_text = masked
    return record
