"""Variables by page; single ones are read by ``treadle_metadata.resources``. Values stay encrypted here."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection

from treadle_metadata.queries.conditions import Conditions
from treadle_metadata.queries.paging import Page, PageRequest, SortKey, fetch_page

_SORTS: Final = {"key": SortKey("variable.key", "text"), "team_name": SortKey("variable.team", "text")}


def list_variables(
    connection: Connection, page: PageRequest, *, pattern: str | None = None, prefix: str | None = None
) -> Page:
    """Return a page of variables by key; ``value`` is the encrypted text."""
    conditions = Conditions()
    conditions.pattern("variable.key", "pattern", pattern)
    conditions.prefix("variable.key", "prefix", prefix)
    return fetch_page(
        connection,
        select="variable.*",
        source="variable",
        conditions=conditions,
        sorts=_SORTS,
        default=("key",),
        unique=("key", "team_name"),
        request=page,
    )
