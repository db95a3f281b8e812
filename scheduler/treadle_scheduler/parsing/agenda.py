"""Which files to parse next: what has changed since the last parse, the newest edits first, and failed ones again.

Holds what the processor knows of each file, in memory; ``main`` tells it of listings and results. It reads files (to
see whether one with a new time has new content) but starts nothing. After a crash it is filled from the database.
"""

from __future__ import annotations

import hashlib
import heapq
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from treadle_metadata.catalog import Catalog, FileError, FileState
from treadle_scheduler.parsing.inputs import state_of
from treadle_scheduler.parsing.listing import Seen, may_define_dags, read_file

INPUTS_SECONDS: Final = 1.0
"""Least time between two parses of a file for the sake of what it reads: its own parse may be what changes that."""

COSTLY_SECONDS: Final = 2.0
"""A failed file that took longer is tried again by the clock only, not whenever something changes."""

LONGEST_WAIT_SECONDS: Final = 3600.0
"""A file that keeps failing is tried again after ever longer waits, up to this."""

_UNSEEN: Final = Seen(0, 0)


@dataclass(slots=True)
class Known:
    """A DAG file as it was last parsed, or is about to be."""

    state: FileState | None = None
    digests: Mapping[str, str] = field(default_factory=dict)
    failures: int = 0
    retry_at: float | None = None
    """When to try a failed file again, in monotonic seconds."""
    parsed_at: float = -INPUTS_SECONDS
    seconds: float = 0.0
    """How long its last parse took."""
    seen: Seen = _UNSEEN
    """How it was listed when it was last queued, or since then."""
    running: bool = False
    again: bool = False
    """It changed while it was being parsed."""
    listed: bool = False
    """Something was listed while it was being parsed: what it reads may have changed."""
    needs_pool: bool = False
    """A DAG of it was refused since there was no such pool."""


@dataclass(frozen=True, slots=True)
class News:
    """What a listing showed beside files to be parsed."""

    gone: tuple[str, ...]
    touched: Mapping[str, FileState]
    look_again: bool = False
    """What some file reads has changed too soon after its last parse: list again in ``INPUTS_SECONDS``."""


class Agenda:
    """The files of one dags folder and the queue of those to be parsed."""

    def __init__(self, folder: str, catalog: Catalog, *, parser: str, retry_seconds: float) -> None:
        self._folder = folder
        self._parser = parser
        self._retry_seconds = retry_seconds
        self._plain: dict[str, Seen] = {}
        """Python files without DAGs, as they were seen."""
        self._queue: list[tuple[int, str]] = []
        self._queued: set[str] = set()
        self._pools_at = -INPUTS_SECONDS
        """When pools were last heard to have changed, in monotonic seconds."""
        names = catalog.files.keys() | catalog.digests.keys() | catalog.failing
        self._known = {
            name: Known(
                catalog.files.get(name),
                catalog.digests.get(name, {}),
                failures=int(name in catalog.failing),
                retry_at=0.0 if name in catalog.failing else None,
            )
            for name in names
        }

    def __len__(self) -> int:
        return len(self._queued)

    @property
    def files(self) -> Collection[str]:
        """The DAG files."""
        return self._known.keys()

    def listed(self, listing: Mapping[str, Seen], now: float) -> News:
        """Compare with a listing of the folder: queue what changed, and return what vanished or was only touched."""
        inputs: dict[str, list[int] | None] = {}
        touched: dict[str, FileState] = {}
        look_again = False
        gone = [name for name in self._known if name not in listing]
        for name, seen in listing.items():
            if self._plain.get(name) == seen:
                continue
            known = self._known.get(name)
            state = known.state if known is not None else None
            if known is not None and known.running:
                known.again = known.again or seen != known.seen
                known.seen, known.listed = seen, True
            elif state is None or (state.mtime_ns, state.size) != (seen.mtime_ns, seen.size):
                self._look_at(name, seen, known, touched, gone)
            elif known is not None and _is_due(known, now):
                self._add(name, seen, known)
            elif known is not None and self._inputs_changed(state, inputs):
                if now - known.parsed_at < INPUTS_SECONDS:
                    look_again = True
                else:
                    self._add(name, seen, known)
        for name in gone:
            self._known.pop(name, None)
            self._queued.discard(name)
        self._plain = {name: seen for name, seen in self._plain.items() if name in listing}
        return News(tuple(gone), touched, look_again)

    def _look_at(
        self, name: str, seen: Seen, known: Known | None, touched: dict[str, FileState], gone: list[str]
    ) -> None:
        """A file is new or has a new time or size: does its content say that it must be parsed?"""
        content = read_file(os.path.join(self._folder, name))
        if content is None:
            # No right to read it: the child says so, as an error of the file.
            content = b"treadle dag"
        if not may_define_dags(content):
            self._plain[name] = seen
            if known is not None:
                gone.append(name)
            return
        self._plain.pop(name, None)
        if known is None:
            known = self._known[name] = Known()
        state = known.state
        if state is not None and state.hash == hashlib.sha256(content).hexdigest() and not self._inputs_changed(state):
            known.state = touched[name] = FileState(seen.mtime_ns, seen.size, state.hash, state.inputs)
            return
        self._add(name, seen, known)

    def _inputs_changed(self, state: FileState, cache: dict[str, list[int] | None] | None = None) -> bool:
        """Tell whether something that the file read has changed, or another release would read it otherwise."""
        cache = {} if cache is None else cache
        if state.inputs.get("parser") != self._parser:
            return True
        for name, then in state.inputs.get("read", {}).items():
            if name not in cache:
                cache[name] = state_of(os.path.join(self._folder, name))
            if cache[name] != then:
                return True
        return False

    def _add(self, name: str, seen: Seen, known: Known) -> None:
        known.seen = seen
        if name not in self._queued:
            self._queued.add(name)
            heapq.heappush(self._queue, (-seen.mtime_ns, name))

    def next_file(self) -> tuple[str, Mapping[str, str]] | None:
        """Take the file with the newest edit, and the digests of its DAGs as they are stored."""
        while self._queue:
            _, name = heapq.heappop(self._queue)
            if name in self._queued:
                self._queued.discard(name)
                known = self._known[name]
                known.running, known.again, known.listed = True, False, False
                return name, known.digests
        return None

    def parsed(self, name: str, state: FileState, now: float, *, failed: bool, seconds: float = 0.0) -> bool:
        """A child has ended; return False if the file is gone by now, so that there is nothing to store."""
        known = self._known.get(name)
        if known is None:
            return False
        known.running = False
        known.state, known.parsed_at, known.seconds = state, now, seconds
        known.needs_pool = False
        known.retry_at = None
        if failed:
            self._failed(known, now)
        if known.again or (known.listed and self._inputs_changed(state)):
            self._add(name, known.seen, known)
        return True

    def stored(
        self, digests: Mapping[str, Mapping[str, str]], errors: Mapping[str, Sequence[FileError]], now: float
    ) -> bool:
        """A batch is in the database: remember its digests, and the files that were refused there.

        Return whether one of those is due at once: its pool may have been made while it was on its way.
        """
        for name, digests_of_file in digests.items():
            known = self._known.get(name)
            if known is not None:
                known.digests = digests_of_file
                if name not in errors:
                    known.failures = 0
        due = False
        for name, errors_of_file in errors.items():
            known = self._known.get(name)
            if known is None:
                continue
            if known.retry_at is None:
                self._failed(known, now)
            known.needs_pool = any(one.missing_pool is not None for one in errors_of_file)
            if known.needs_pool and known.parsed_at <= self._pools_at:
                known.retry_at = 0.0
                due = True
        return due

    def _failed(self, known: Known, now: float) -> None:
        known.failures += 1
        wait = self._retry_seconds * 2.0 ** min(known.failures - 1, 20)
        known.retry_at = now + min(LONGEST_WAIT_SECONDS, wait)

    def pools_changed(self, now: float) -> None:
        """Let files that were refused for a missing pool be tried at the next listing, however long they take."""
        self._pools_at = now
        for known in self._known.values():
            if known.needs_pool:
                known.retry_at = 0.0

    def read_again(self, names: Collection[str]) -> None:
        """Let these files be parsed at the next listing, though nothing of them has changed: somebody asked for it."""
        for name in names:
            self._plain.pop(name, None)
            known = self._known.get(name)
            if known is not None:
                known.again = known.running
                known.state = None

    def retry_failed(self) -> None:
        """Let failed files be tried at the next listing: something changed that may have mended them."""
        for known in self._known.values():
            if known.retry_at is not None and known.seconds < COSTLY_SECONDS:
                known.retry_at = 0.0

    def concerns(self, path: str) -> bool:
        """Tell whether a change at ``path`` (absolute) can matter, so that the folder must be listed."""
        name = os.path.relpath(path, self._folder)
        parts = name.split(os.sep)
        if "__pycache__" in parts or any(part.startswith(".") for part in parts[:-1]):
            return False
        if parts[-1].endswith(".py") or parts[-1] == ".treadleignore":
            return True
        if parts[-1].startswith(".") and parts[-1] != ".":
            return False
        if os.path.isdir(path) or self._is_read(name) or self._is_read(os.path.dirname(name)):
            return True
        return any(one.startswith(name + "/") for one in self._known)

    def _is_read(self, name: str) -> bool:
        return any(
            name in known.state.inputs.get("read", ()) for known in self._known.values() if known.state is not None
        )


def _is_due(known: Known, now: float) -> bool:
    return known.retry_at is not None and known.retry_at <= now


def inputs_of(parser: str, read: Any) -> dict[str, Any]:
    """Return a file's ``inputs`` as they are stored."""
    return {"parser": parser, "read": read if isinstance(read, dict) else {}}
