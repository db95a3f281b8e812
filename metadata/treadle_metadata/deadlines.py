"""Deadlines of runs: worked out in the statement that makes the run, fired by whichever scheduler claims them first.

``transitions.runs`` puts :data:`OF_RUNS` into the statements that make runs or begin them anew, and removes what was
kept in the statement that ends them. The duty ``fire_deadlines`` calls :func:`fire`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from treadle_metadata import claims
from treadle_metadata.statements import tuples
from treadle_metadata.transitions import callbacks
from treadle_metadata.transitions.deadline_sql import OF_RUNS

__all__ = ["BATCH", "OF_RUNS", "fire", "next_due"]

BATCH: Final = 200
"""The most deadlines that one beat fires."""


def fire(connection: Connection, *, now: datetime) -> int:
    """Have the callbacks called of deadlines that are over; return how many there were (cases A57, A60)."""
    ids = claims.claim_due_deadlines(connection, now=now, most=BATCH)
    return callbacks.miss_deadlines(connection, ids, now=now)


def next_due(connection: Connection) -> datetime | None:
    """Return the next deadline of all runs that have not ended."""
    found: datetime | None = tuples(connection, "SELECT min(due_at) FROM deadline WHERE missed_at IS NULL")[0][0]
    return found
