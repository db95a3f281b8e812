"""Logs of attempts and callbacks that run on other machines: their parts are written into the logs folder as they come.

Called by the Execution API. A part that comes twice is written over itself, so a worker that does not know whether one
arrived sends it again; after a kill on either side it goes on from what is there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.queries.logs import inside
from treadle_metadata.statements import tuples


def log_paths(connection: Connection, wanted: Sequence[AttemptRef], logs_folder: Path) -> dict[UUID, Path]:
    """Return where the logs of these attempts are kept, of those that there are.

    Raises:
        InvalidRequestError: a stored path leads out of the folder (case F6).
    """
    found = tuples(
        connection,
        """
        SELECT attempt.attempt_id, attempt.log_path
        FROM unnest(%(ids)s::uuid[], %(months)s::date[]) AS wanted (attempt_id, month)
        JOIN task_attempt AS attempt ON attempt.attempt_id = wanted.attempt_id AND attempt.month = wanted.month
        UNION ALL
        SELECT attempt_id, log_path FROM callback WHERE attempt_id = ANY(%(ids)s) AND log_path IS NOT NULL
        """,
        {"ids": [one.attempt_id for one in wanted], "months": [one.month for one in wanted]},
    )
    return {row[0]: inside(logs_folder, row[1]) for row in found}


def write_part(path: Path, offset: int, data: bytes) -> int:
    """Write ``data`` at byte ``offset`` and return the size of the log; beyond its end nothing is written."""
    if not data:
        return path.stat().st_size if path.exists() else 0
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
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
