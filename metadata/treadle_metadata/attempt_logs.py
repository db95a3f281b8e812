"""Logs of attempts and callbacks that run on other machines: their parts are written into the logs folder as they come.

Called by the Execution API. A part that comes twice is written over itself, so a worker that does not know whether one
arrived sends it again; after a kill on either side it goes on from what is there. Where there is a remote store, what
this machine does not have is fetched from it first, so several web servers need no folder in common.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.remote_logs.pieces import key_of
from treadle_metadata.remote_logs.places import LogPlaces, inside, size_of
from treadle_metadata.remote_logs.reading import StoredLog
from treadle_metadata.statements import tuples

_FETCHED_AT_ONCE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Target:
    """Where the log of an attempt goes: ``stored`` is its path in the logs folder, ``path`` the file."""

    stored: str
    path: Path
    month: date
    was_begun: bool
    """Whether an earlier attempt of the same try may have written some of it."""


def targets(connection: Connection, wanted: Sequence[AttemptRef], logs_folder: Path) -> dict[UUID, Target]:
    """Return where the logs of these attempts are kept, of those that there are.

    Raises:
        InvalidRequestError: a stored path leads out of the folder (case F6).
    """
    found = tuples(
        connection,
        """
        SELECT attempt.attempt_id, attempt.log_path,
               EXISTS (SELECT FROM task_attempt AS other
                       WHERE other.month = attempt.month AND other.task_instance_id = attempt.task_instance_id
                         AND other.try_number = attempt.try_number AND other.attempt_id <> attempt.attempt_id)
        FROM unnest(%(ids)s::uuid[], %(months)s::date[]) AS wanted (attempt_id, month)
        JOIN task_attempt AS attempt ON attempt.attempt_id = wanted.attempt_id AND attempt.month = wanted.month
        UNION ALL
        SELECT attempt_id, log_path, false FROM callback WHERE attempt_id = ANY(%(ids)s) AND log_path IS NOT NULL
        """,
        {"ids": [one.attempt_id for one in wanted], "months": [one.month for one in wanted]},
    )
    months = {one.attempt_id: one.month for one in wanted}
    return {row[0]: Target(row[1], inside(logs_folder, row[1]), months[row[0]], row[2]) for row in found}


def ended_attempts(connection: Connection, wanted: Mapping[str, date]) -> set[str]:
    """Return those of some attempts and callbacks, named with their months, that are not under way (any more)."""
    found = tuples(
        connection,
        """
        SELECT attempt.attempt_id
        FROM unnest(%(ids)s::uuid[], %(months)s::date[]) AS wanted (attempt_id, month)
        JOIN task_attempt AS attempt ON attempt.attempt_id = wanted.attempt_id AND attempt.month = wanted.month
        WHERE attempt.ended_at IS NULL
        UNION ALL
        SELECT attempt_id FROM callback WHERE attempt_id = ANY(%(ids)s::uuid[]) AND ended_at IS NULL
        """,
        {"ids": list(wanted), "months": list(wanted.values())},
    )
    return set(wanted) - {str(row[0]) for row in found}


def receive_part(places: LogPlaces, target: Target, offset: int, data: bytes) -> int:
    """Write a part and return the size of the log; what another machine has of it is fetched first.

    Raises:
        LogStoreError: the remote store is needed for that, and cannot be read just now.
        OSError: the logs folder has no room.
    """
    here = size_of(target.path)
    if places.store is not None and (offset > here or (here == 0 and target.was_begun)):
        _fetch(StoredLog(places.store, key_of(target.month, target.stored)), target.path, here)
    return write_part(target.path, offset, data)


def _fetch(log: StoredLog, path: Path, here: int) -> None:
    """Append to a file what a remote log has beyond it."""
    size = log.size()
    while here < size:
        data = log.slice(here, _FETCHED_AT_ONCE)
        if not data:
            return
        here = write_part(path, here, data)


def write_part(path: Path, offset: int, data: bytes) -> int:
    """Write ``data`` at byte ``offset`` and return the size of the log; beyond its end nothing is written."""
    if not data:
        return path.stat().st_size if path.exists() else 0
    descriptor = _opened(path)
    try:
        size = os.fstat(descriptor).st_size
        if offset > size:
            return size
        written = 0
        while written < len(data):
            written += os.pwrite(descriptor, data[written:], offset + written)
        return max(size, offset + len(data))
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    """Open a log for writing, and hold off whoever would remove it since it has been sent to the remote store."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except FileNotFoundError:
            continue  # the folder was removed in between
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)
