"""Identifiers: attempt ids (UUIDv7, RFC 9562), where an attempt's rows are, and the rules for run ids.

Attempt ids begin with the time, so that rows of one moment lie together in their index.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final
from uuid import UUID

from treadle_metadata.errors import InvalidRequestError, shown

RUN_ID: Final = re.compile(r"[A-Za-z0-9_.~:+-]{1,250}")
"""What a run id may be: it is part of a log path and of URLs (cases F2, F3)."""

_SPECIAL: Final = frozenset({".", "~"})
"""Texts of the right characters that mean something else: a folder in a path, and all runs in a URL."""

RESERVED_PREFIXES: Final = ("scheduled__", "backfill__", "asset_triggered__")


def new_attempt_id() -> UUID:
    """Return a fresh UUIDv7."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    return UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


def month_of(moment: datetime) -> date:
    """Return the first day of the month of ``moment`` in UTC: the partition of what is created then."""
    return moment.astimezone(UTC).date().replace(day=1)


def checked_run_id(run_id: str) -> str:
    """Return ``run_id`` if a person may choose it.

    Raises:
        InvalidRequestError: it has other characters than letters, digits and ``_.~:+-``, is longer than 250, holds
            ``..``, is ``.`` or ``~``, or begins like the ids that the scheduler makes.
    """
    if not RUN_ID.fullmatch(run_id) or ".." in run_id or run_id in _SPECIAL:
        raise InvalidRequestError(
            f"run id {shown(run_id)} cannot be used: expected 1 to 250 of the characters A-Z a-z 0-9 _ . ~ : + - "
            "and no '..', and more than '.' or '~'",
            field="dag_run_id",
        )
    for prefix in RESERVED_PREFIXES:
        if run_id.startswith(prefix):
            raise InvalidRequestError(
                f"run id {shown(run_id)} begins with {prefix!r}, which the scheduler's own runs use",
                field="dag_run_id",
            )
    return run_id


@dataclass(frozen=True, slots=True)
class AttemptRef:
    """Names one attempt, and says where its rows are."""

    attempt_id: UUID
    task_instance_id: int
    month: date
