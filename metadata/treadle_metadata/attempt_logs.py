"""Logs of attempts that run on other machines: their chunks are written into the logs folder as they come.

Called by the Execution API. A chunk that comes twice is written over itself, so a worker that does not know whether one
arrived sends it again; after a kill on either side it goes on from what is there.
"""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import Connection

from treadle_metadata.errors import NotFoundError
from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.queries.logs import inside
from treadle_metadata.statements import tuples


def log_path(connection: Connection, attempt: AttemptRef, logs_folder: Path) -> Path:
    """Return where the log of ``attempt``, of a task or of a callback, is kept.

    Raises:
        NotFoundError: the attempt never was, or was taken back before it started.
        InvalidRequestError: its stored path leads out of the folder (case F6).
    """
    found = tuples(
        connection,
        "SELECT log_path FROM task_attempt WHERE attempt_id = %(attempt_id)s AND month = %(month)s"
        " UNION ALL SELECT log_path FROM callback WHERE attempt_id = %(attempt_id)s",
        {"attempt_id": attempt.attempt_id, "month": attempt.month},
    )
    if not found:
        raise NotFoundError("attempt", str(attempt.attempt_id))
    return inside(logs_folder, found[0][0])


def write_chunk(path: Path, offset: int, chunk: bytes) -> int:
    """Write ``chunk`` at byte ``offset`` and return the size of the log; beyond its end nothing is written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        if offset > size:
            return size
        written = 0
        while written < len(chunk):
            written += os.pwrite(descriptor, chunk[written:], offset + written)
        return max(size, offset + len(chunk))
    finally:
        os.close(descriptor)
