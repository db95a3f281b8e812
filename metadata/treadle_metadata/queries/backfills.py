"""Backfills, with how their runs stand, and when they may be expected to be over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.conditions import Conditions
from treadle_metadata.queries.paging import Page, PageRequest, SortKey, fetch_page
from treadle_metadata.statements import rows

_SELECT: Final[LiteralString] = "backfill.*, dag.display_name AS dag_display_name"
_SOURCE: Final[LiteralString] = "backfill JOIN dag ON dag.dag_id = backfill.dag_id"

_SORTS: Final = {
    "id": SortKey("backfill.id", "bigint"),
    "dag_id": SortKey("backfill.dag_id", "text"),
    "from_date": SortKey("backfill.from_date", "timestamptz"),
    "created_at": SortKey("backfill.created_at", "timestamptz"),
}


def list_backfills(
    connection: Connection, page: PageRequest, *, dag_id: str | None = None, active: bool | None = None
) -> Page:
    """Return a page of backfills, the newest first."""
    conditions = Conditions()
    conditions.equals("backfill.dag_id", "dag_id", dag_id)
    if active is not None:
        conditions.add("backfill.completed_at IS NULL" if active else "backfill.completed_at IS NOT NULL")
    return fetch_page(
        connection,
        select=_SELECT,
        source=_SOURCE,
        conditions=conditions,
        sorts=_SORTS,
        default=("-id",),
        unique=("id",),
        request=page,
    )


def get_backfill(connection: Connection, backfill_id: int) -> dict[str, Any]:
    """Return one backfill.

    Raises:
        NotFoundError: there is no such backfill.
    """
    found = rows(connection, f"SELECT {_SELECT} FROM {_SOURCE} WHERE backfill.id = %(id)s", {"id": backfill_id})
    if not found:
        raise NotFoundError("backfill", backfill_id)
    return dict(found[0])


def run_counts(connection: Connection, backfill_id: int) -> dict[str, int]:
    """Return how many runs of a backfill are in each state."""
    sql = "SELECT state, count(*) AS number FROM dag_run WHERE backfill_id = %(id)s GROUP BY state"
    return {row["state"]: row["number"] for row in rows(connection, sql, {"id": backfill_id})}


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a backfill is. ``remaining`` is an estimate; None as long as no run has ended, or it stands still."""

    state: str
    """running, paused, completed or cancelled."""
    counts: Mapping[str, int]
    """Its runs by state."""
    remaining: timedelta | None

    @property
    def total(self) -> int:
        """Return how many runs it has."""
        return sum(self.counts.values())

    @property
    def done(self) -> int:
        """Return how many of them have ended."""
        return self.counts.get("success", 0) + self.counts.get("failed", 0)


def progress(connection: Connection, backfill_id: int, *, now: datetime) -> Progress:
    """Return how far a backfill is.

    Raises:
        NotFoundError: there is no such backfill.
    """
    backfill = get_backfill(connection, backfill_id)
    counts = run_counts(connection, backfill_id)
    spans = rows(
        connection,
        """
        SELECT min(started_at) AS began, count(*) FILTER (WHERE ended_at IS NOT NULL) AS ended
        FROM dag_run WHERE backfill_id = %(id)s AND started_at IS NOT NULL
        """,
        {"id": backfill_id},
    )[0]
    left = counts.get("queued", 0) + counts.get("running", 0)
    state = state_of(backfill)
    remaining = None if state != "running" else estimate(left, spans["ended"], spans["began"], now=now)
    return Progress(state, counts, remaining)


def state_of(backfill: Mapping[str, Any]) -> str:
    """Return running, paused, completed or cancelled."""
    if backfill["completed_at"] is not None:
        return "completed" if backfill["cancelled_at"] is None else "cancelled"
    return "paused" if backfill["is_paused"] else "running"


def estimate(left: int, ended: int, began: datetime | None, *, now: datetime) -> timedelta | None:
    """Return how long ``left`` runs take at the pace at which ``ended`` ones have ended since ``began``. Pure."""
    if left == 0:
        return timedelta(0)
    if not ended or began is None or now <= began:
        return None
    return (now - began) / ended * left


def dates(connection: Connection, backfill_id: int) -> list[dict[str, Any]]:
    """Return the runs of a backfill by date, with their states and times."""
    found = rows(
        connection,
        """
        SELECT logical_date, run_id, state, started_at, ended_at, ended_at - started_at AS duration
        FROM dag_run WHERE backfill_id = %(id)s ORDER BY logical_date
        """,
        {"id": backfill_id},
    )
    return [dict(row) for row in found]
