"""Task logs: one JSON object per line, appended with one write each.

Both the task child (its logging records and prints) and the host (whatever reaches descriptors 1 and 2 without passing
through Python) append to the same file; ``O_APPEND`` keeps their lines whole. A disk that is full or a folder that
cannot be made never fails a task: the lines are lost, counted in ``dropped``, and the next one that finds room says so.

A line: ``{"time", "level", "source", "text"}``, where needed ``"logger"``, ``"exc"`` (a traceback) and ``"continued"``
(true: the text goes on from the line before, which was longer than 64 KiB).
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterable
from typing import Final

MAX_LINE_BYTES: Final = 64 * 1024
Mask = Callable[[str], str]

_quote = json.encoder.encode_basestring


def timestamp(seconds: float | None = None) -> str:
    """Return a moment (seconds since the epoch, default now) as ISO 8601 in UTC with microseconds."""
    moment = time.time() if seconds is None else seconds
    whole = int(moment)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{int((moment - whole) * 1e6):06d}Z"


def no_mask(text: str) -> str:
    """Return ``text``: the mask of an attempt that has seen no secret."""
    return text


class TaskLog:
    """Appends to one attempt's file. ``mask`` is applied to every text before it is written."""

    __slots__ = ("_fd", "_is_torn", "_told", "_why", "dropped", "mask", "path")

    def __init__(self, path: str, mask: Mask = no_mask) -> None:
        self.path = path
        self.mask = mask
        self.dropped = 0
        self._told = 0
        self._why = ""
        self._is_torn = False
        self._fd = -1

    def write(
        self,
        level: str,
        source: str,
        text: str,
        *,
        logger: str | None = None,
        exc: str | None = None,
        seconds: float | None = None,
    ) -> None:
        """Append one entry. A text with line ends in it stays one entry."""
        mask = self.mask
        pieces = _split_text(mask(text))
        extra = "" if logger is None else f',"logger":{_quote(logger)}'
        if exc is not None:
            extra += f',"exc":{_quote(mask(exc))}'
        self._append([(piece, number > 0) for number, piece in enumerate(pieces)], level, source, extra, seconds)

    def write_output(self, source: str, lines: Iterable[tuple[bytes, bool]]) -> None:
        """Append raw output lines, as :class:`LineSplitter` gives them."""
        mask = self.mask
        texts = [(mask(line.decode("utf-8", "backslashreplace")), continued) for line, continued in lines]
        if texts:
            self._append(texts, "info", source, "", None)

    def _append(
        self, texts: list[tuple[str, bool]], level: str, source: str, extra: str, seconds: float | None
    ) -> None:
        head = f'{{"time":"{timestamp(seconds)}","level":"{level}","source":"{source}","text":'
        tail, continued_tail = extra + "}\n", extra + ',"continued":true}\n'
        content = "".join(head + _quote(text) + (continued_tail if continued else tail) for text, continued in texts)
        if self.dropped > self._told:
            content = self._loss(head) + content
        try:
            if self._fd < 0:
                self._open()
            data = content.encode("utf-8", "replace")
            written = os.write(self._fd, data)
            if written < len(data):
                self._is_torn = True
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self.dropped += len(texts)
            self._why = error.strerror or str(error)
        else:
            self._told, self._is_torn = self.dropped, False

    def _loss(self, head: str) -> str:
        """Return the line that tells of those that are lost; after one that is there in part, on a line of its own."""
        text = f"{self.dropped - self._told} lines of this log are lost: {self._why}"
        start = "\n" if self._is_torn else ""
        moment = head.partition(',"level"')[0]
        return f'{start}{moment},"level":"error","source":"treadle","text":{_quote(text)}}}\n'

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        while self._fd < 0:
            try:
                self._fd = os.open(self.path, flags, 0o640)
            except FileNotFoundError:
                # Once more, if the folder was removed meanwhile, since the logs in it were in the remote store.
                os.makedirs(os.path.dirname(self.path), exist_ok=True)

    def close(self) -> None:
        """Close the file; a later write opens it again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _split_text(text: str) -> list[str]:
    limit = MAX_LINE_BYTES
    if len(text) <= limit:
        return [text]
    return [text[start : start + limit] for start in range(0, len(text), limit)]


class LineSplitter:
    """Cuts a byte stream into lines; one that exceeds ``MAX_LINE_BYTES`` comes in pieces, marked as continued."""

    __slots__ = ("_continued", "_rest")

    def __init__(self) -> None:
        self._rest = b""
        self._continued = False

    def feed(self, data: bytes) -> list[tuple[bytes, bool]]:
        """Add ``data``; return the lines that it completed, without their ends."""
        *lines, rest = (self._rest + data).split(b"\n")
        found: list[tuple[bytes, bool]] = []
        for line in lines:
            self._cut(line, found, whole=True)
        self._rest = self._cut(rest, found, whole=False)
        return found

    def flush(self) -> list[tuple[bytes, bool]]:
        """Return the last line if it lacks its end."""
        if not self._rest:
            return []
        line, self._rest = (self._rest, self._continued), b""
        self._continued = False
        return [line]

    def _cut(self, line: bytes, found: list[tuple[bytes, bool]], *, whole: bool) -> bytes:
        while len(line) > MAX_LINE_BYTES:
            found.append((line[:MAX_LINE_BYTES], self._continued))
            line, self._continued = line[MAX_LINE_BYTES:], True
        if whole:
            found.append((line.removesuffix(b"\r"), self._continued))
            self._continued = False
        return line
