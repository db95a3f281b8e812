"""Task logs: where an attempt's log is, and reading it in chunks or from its end, never whole into memory.

A log is JSON lines: time, level, source and text. A line that is not JSON (torn by a kill) is shown as it stands.
It lies in the logs folder of this machine or in the remote store (``remote_logs.places``).
"""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.surrogates import may_hold_halves, without_halves
from treadle_metadata.queries.task_instances import get_instance, get_try, is_over
from treadle_metadata.remote_logs.places import LogFile

CHUNK: Final = 1024 * 1024
"""Bytes of log that one answer holds at most, about."""

_LONGEST_LINE: Final = 4 * CHUNK


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some lines; ``next_offset`` is where to read on, ``at_end`` that there was no more when this was read."""

    lines: list[dict[str, Any]]
    next_offset: int
    at_end: bool


@dataclass(frozen=True, slots=True)
class Log:
    """An attempt's log: its path as the database has it, the month of its run, the attempt's row, and its end."""

    stored: str
    month: date
    attempt: Mapping[str, Any]
    is_over: bool
    """Whether nothing more is written to it."""


def find_log(connection: Connection, dag_id: str, run_id: str, task_id: str, map_index: int, try_number: int) -> Log:
    """Return what an attempt's log is found by; ``LogPlaces.find`` finds it, which needs no database.

    Raises:
        NotFoundError: there is no such instance or try.
    """
    instance = get_instance(connection, dag_id, run_id, task_id, map_index)
    attempt = get_try(connection, instance, try_number)
    return Log(attempt["log_path"], instance["month"], attempt, is_over(instance, attempt))


def why_empty(path: LogFile, attempt: Mapping[str, Any]) -> str | None:
    """Return, in words, why ``attempt`` (a row of task_attempt) has no lines at ``path``; None if it has some.

    The file is made with its first line, so an attempt that said nothing has none.
    """
    try:
        with path.open("rb") as file:
            if file.read(1):
                return None
    except FileNotFoundError:
        pass
    number, host = attempt["try_number"], attempt["hostname"]
    if attempt["ended_at"] is None:
        return f"try {number} has written no log yet"
    if host in (None, socket.gethostname()):
        return f"try {number} wrote no log"
    return f"try {number} wrote no log here; it ran on {host!r}: if that has a logs folder of its own, look there"


def read_chunk(path: LogFile, offset: int = 0, size: int = CHUNK) -> Chunk:
    """Read whole lines from byte ``offset`` on, about ``size`` bytes of them."""
    try:
        with path.open("rb") as file:
            length = file.seek(0, io.SEEK_END)
            start = min(offset, length)
            file.seek(start)
            block = file.read(size)
            if block and not block.endswith(b"\n") and start + len(block) < length:
                block += file.readline(_LONGEST_LINE)
            end = start + len(block)
    except FileNotFoundError:
        return Chunk([], 0, True)
    if not block.endswith(b"\n"):
        # The last line is still being written; it is left for the next chunk.
        whole, _, torn = block.rpartition(b"\n")
        block, end = (whole, end - len(torn)) if whole or end < length else (block, end)
    return Chunk([parsed(line) for line in block.splitlines()], end, end >= length)


def read_tail(path: LogFile, count: int) -> Chunk:
    """Read the last ``count`` lines, from the end of the file backwards."""
    try:
        with path.open("rb") as file:
            length = start = file.seek(0, io.SEEK_END)
            block = b""
            while start > 0 and block.count(b"\n") <= count and len(block) < 2 * _LONGEST_LINE:
                step = min(64 * 1024, start)
                start -= step
                file.seek(start)
                block = file.read(step) + block
    except FileNotFoundError:
        return Chunk([], 0, True)
    lines = block.splitlines()[-count:] if count else []
    return Chunk([parsed(line) for line in lines], length, True)


def iterate(path: LogFile) -> Iterator[dict[str, Any]]:
    """Yield all lines of a log."""
    for lines in chunks(path):
        yield from lines


def chunks(path: LogFile) -> Iterator[list[dict[str, Any]]]:
    """Yield all lines of a log, a chunk of them at a time."""
    offset = 0
    while True:
        chunk = read_chunk(path, offset)
        yield chunk.lines
        if chunk.at_end or chunk.next_offset == offset:
            return
        offset = chunk.next_offset


def parsed(line: bytes) -> dict[str, Any]:
    """Return a line as a dict; one that is no JSON object becomes ``{"text": ...}``."""
    text = line.decode(errors="replace")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {"text": text}
    if not isinstance(content, dict):
        return {"text": text}
    return without_halves(content) if may_hold_halves(line) else content


def require_try(try_number: int) -> int:
    """Return ``try_number`` if an attempt can have it.

    Raises:
        NotFoundError: it is below 1: nothing was logged before the first try.
    """
    if try_number < 1:
        raise NotFoundError("try", try_number)
    return try_number
