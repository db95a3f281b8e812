"""Windows of long logs by line number, and searches in them, without reading more than is asked for.

A sparse index, made in one quick pass over what was added since the last look, says where each stretch of a log begins
and how many lines of a level there are. It is kept in memory by the web server: the file is the truth, and a server
that starts anew makes it again.
"""

from __future__ import annotations

import io
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, BinaryIO, Final

from treadle_metadata.queries.logs import parsed
from treadle_metadata.remote_logs.places import LogFile

STRETCH: Final = 256 * 1024
"""Bytes of a log from one mark of its index to the next, about."""

MOST_SEARCHED: Final = 64 * 1024 * 1024
"""Bytes that one search reads, about: some tenths of a second. Whoever asks goes on from where it stopped."""

_KEPT: Final = 32
_COUNTED: Final = {
    "error": (b'"level":"error"', b'"level":"critical"', b'"level": "error"', b'"level": "critical"'),
    "warning": (b'"level":"warning"', b'"level": "warning"'),
}


@dataclass(slots=True)
class LineIndex:
    """Where lines are: ``marks`` are (number of a line, byte at which it begins), in order; lines count from 0.

    ``lines`` whole lines end at byte ``size``; what is after it is still being written. ``counts`` are of levels.
    """

    marks: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    lines: int = 0
    size: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))

    def extend(self, file: BinaryIO) -> None:
        """Read on from where the index ends; a file that is shorter than it was is read from the start."""
        if file.seek(0, io.SEEK_END) < self.size:
            self.marks, self.lines, self.size = [(0, 0)], 0, 0
            self.counts = dict.fromkeys(_COUNTED, 0)
        file.seek(self.size)
        rest = b""
        while block := file.read(STRETCH):
            end = block.rfind(b"\n") + 1
            if not end:
                rest += block
                continue
            self._take(rest + block[:end])
            rest = block[end:]

    def _take(self, whole: bytes) -> None:
        self.lines += whole.count(b"\n")
        self.size += len(whole)
        self.marks.append((self.lines, self.size))
        for level, patterns in _COUNTED.items():
            self.counts[level] += sum(whole.count(pattern) for pattern in patterns)

    def mark_before(self, line: int) -> tuple[int, int]:
        """Return the last mark that is not after ``line``."""
        low, high = 0, len(self.marks)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.marks[middle][0] <= line else (low, middle)
        return self.marks[low]


class LineIndexes:
    """The indexes of the logs that were read last; safe to use from several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[LineIndex, threading.Lock]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, name: str, file: BinaryIO) -> LineIndex:
        """Return the index of an open log, brought up to its end; ``name`` tells logs apart."""
        with self._lock:
            index, lock = self._kept.setdefault(name, (LineIndex(), threading.Lock()))
            self._kept.move_to_end(name)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        with lock:
            index.extend(file)
            return LineIndex(list(index.marks), index.lines, index.size, dict(index.counts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Some lines of a log. ``first`` is the number of the first one; ``lines`` of the log are ``total`` whole ones."""

    first: int
    lines: list[dict[str, Any]]
    total: int
    size: int
    counts: dict[str, int]


NOTHING: Final = Window(first=0, lines=[], total=0, size=0, counts=dict.fromkeys(_COUNTED, 0))


def read_window(log: LogFile, name: str, indexes: LineIndexes, first: int | None, count: int) -> Window:
    """Return up to ``count`` lines from line ``first`` on; without ``first``, or with one too large, the last ones."""
    try:
        file = log.open("rb")
    except FileNotFoundError:
        return NOTHING
    with file:
        index = indexes.of(name, file)
        start = max(0, index.lines - count) if first is None or first > index.lines else first
        number, offset = index.mark_before(start)
        file.seek(offset)
        lines = [parsed(line) for line in _lines(file, index.size - offset, start - number, count)]
    return Window(first=start, lines=lines, total=index.lines, size=index.size, counts=index.counts)


def _lines(file: BinaryIO, size: int, skipped: int, count: int) -> Iterator[bytes]:
    """Yield ``count`` lines after ``skipped`` ones, of at most ``size`` bytes, without their ends."""
    while count > 0 and size > 0 and (line := file.readline()):
        size -= len(line)
        if skipped > 0:
            skipped -= 1
            continue
        count -= 1
        yield line.rstrip(b"\r\n")


@dataclass(frozen=True, slots=True)
class Match:
    """A line that was found."""

    number: int
    line: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found; ``next_line`` is where to search on, None when the end was reached.

    There may be no match and a next line: the search stopped after ``MOST_SEARCHED`` bytes.
    """

    matches: list[Match]
    next_line: int | None


def search(
    log: LogFile,
    name: str,
    indexes: LineIndexes,
    words: str,
    *,
    levels: frozenset[str],
    first: int,
    limit: int,
    most_bytes: int = MOST_SEARCHED,
) -> Found:
    """Find lines from ``first`` on that hold ``words`` (letter case aside) and have one of ``levels`` (empty: any).

    Without words all lines of the levels are found.
    """
    try:
        file = log.open("rb")
    except FileNotFoundError:
        return Found([], None)
    needles = _needles(words, levels)
    matches: list[Match] = []
    with file:
        index = indexes.of(name, file)
        for (number, offset), (following, end) in pairwise(index.marks):
            if following <= first:
                continue
            file.seek(offset)
            block = file.read(end - offset)
            for at, raw in _candidates(block, needles, number):
                if at >= first and _fits(line := parsed(raw), words, levels):
                    matches.append(Match(at, line))
                    if len(matches) == limit:
                        return Found(matches, at + 1 if at + 1 < index.lines else None)
            most_bytes -= len(block)
            if most_bytes <= 0 and following < index.lines:
                return Found(matches, following)
    return Found(matches, None)


def _needles(words: str, levels: frozenset[str]) -> list[bytes]:
    """Return what a line must hold one of, in small letters, to be worth a closer look: quick to be looked for."""
    if words:
        forms = {json.dumps(words, ensure_ascii=plain)[1:-1] for plain in (True, False)} | {words}
        return sorted({form.lower().encode(errors="replace") for form in forms})
    return [form for level in levels for form in (f'"{level}"'.encode(),)] or [b""]


def _candidates(block: bytes, needles: list[bytes], number: int) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line) of the lines of a block that hold a needle, in order; the block begins at ``number``."""
    small = block.lower()
    counted = at = 0
    while True:
        hits = [hit for needle in needles if (hit := small.find(needle, at)) >= 0]
        if not hits:
            return
        start = small.rfind(b"\n", 0, min(hits)) + 1
        end = small.find(b"\n", min(hits))
        end = len(block) if end < 0 else end
        if start >= len(block):
            return
        number += small.count(b"\n", counted, start)
        counted = start
        yield number, block[start:end]
        at = end + 1


def _fits(line: dict[str, Any], words: str, levels: frozenset[str]) -> bool:
    if levels and str(line.get("level", "")).lower() not in levels:
        return False
    small = words.lower()
    return not words or any(small in str(line.get(name, "")).lower() for name in ("text", "exc", "source", "logger"))
