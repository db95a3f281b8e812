"""Backfills, with how their runs stand."""

from __future__ import annotations

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
