"""The types of path and query parameters that routes share: ids, pages, ranges of time, strict bodies.

Every id has a pattern and a length, so that a bad one ends as 404 or 422 before anything looks for it.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import Path, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from treadle_metadata.queries.conditions import Between
from treadle_metadata.queries.paging import Page, PageRequest

LARGEST_PAGE: Final = 1000
ALL: Final = "~"
"""Stands for all DAGs or all runs in the path of a list."""

_INT: Final = 2**31 - 1
_BIGINT: Final = 2**63 - 1

DagId = Annotated[str, Path(max_length=250, pattern=r"^(~|[\w.-]+)$")]
RunId = Annotated[str, Path(max_length=250, pattern=r"^[A-Za-z0-9_.~:+-]+$")]
TaskId = Annotated[str, Path(max_length=500, pattern=r"^(~|[\w.-]+)$")]
MapIndex = Annotated[int, Path(ge=-1, le=_INT)]
TryNumber = Annotated[int, Path(ge=0, le=_INT)]
VersionNumber = Annotated[int, Path(ge=1, le=_INT)]
RowId = Annotated[int, Path(ge=0, le=_BIGINT)]
Name = Annotated[str, Path(min_length=1, max_length=512)]

MapIndexQuery = Annotated[int, Query(ge=-1, le=_INT)]
Moment = AwareDatetime | None
Text = Annotated[str, Field(max_length=512)] | None
Texts = Annotated[list[Annotated[str, Field(max_length=512)]], Field(max_length=500)]
Numbers = Annotated[list[Annotated[int, Field(ge=-1, le=_INT)]], Field(max_length=500)]
RunStateName = Literal["queued", "running", "success", "failed"]
Note = Annotated[str, Field(max_length=1000)] | None


class StrictBody(BaseModel):
    """A request body: a key that is not known is an error."""

    model_config = ConfigDict(extra="forbid")


class PageQuery(BaseModel):
    """Which page of a list. A parameter that is not known is an error, never silently without effect."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(50, ge=0)
    offset: int = Field(0, ge=0, le=_BIGINT)
    order_by: Texts = []

    @property
    def page(self) -> PageRequest:
        """The page, its size clamped."""
        return PageRequest(limit=min(self.limit, LARGEST_PAGE), offset=self.offset, order_by=tuple(self.order_by))


class CursorQuery(PageQuery):
    """Which page of a list that can also be walked by cursor; an empty ``cursor`` begins a walk."""

    cursor: str | None = Field(None, max_length=2000)

    @property
    def page(self) -> PageRequest:
        """The page, its size clamped."""
        limit = min(self.limit, LARGEST_PAGE)
        return PageRequest(limit=limit, offset=self.offset, cursor=self.cursor, order_by=tuple(self.order_by))


class RunDatesQuery(CursorQuery):
    """Ranges of the dates that runs and task instances have."""

    run_after_gte: Moment = None
    run_after_gt: Moment = None
    run_after_lte: Moment = None
    run_after_lt: Moment = None
    logical_date_gte: Moment = None
    logical_date_gt: Moment = None
    logical_date_lte: Moment = None
    logical_date_lt: Moment = None
    start_date_gte: Moment = None
    start_date_gt: Moment = None
    start_date_lte: Moment = None
    start_date_lt: Moment = None
    end_date_gte: Moment = None
    end_date_gt: Moment = None
    end_date_lte: Moment = None
    end_date_lt: Moment = None

    def between(self, name: str) -> Between:
        """Return the limits of the date ``name``."""
        return Between(**{suffix: getattr(self, f"{name}_{suffix}") for suffix in ("gte", "gt", "lte", "lt")})


def one_or_all(name: str) -> str | None:
    """Return None when ``name`` stands for all."""
    return None if name == ALL else name


class Totals(TypedDict):
    """What goes with every list."""

    total_entries: int


class Cursors(TypedDict):
    """What goes with a list that can be walked by cursor."""

    total_entries: int | None
    total_entries_limit: int | None
    next_cursor: str | None
    previous_cursor: str | None


def totals(page: Page) -> Totals:
    """Return the count that goes with a list."""
    return {"total_entries": page.total or 0}


def cursors(page: Page) -> Cursors:
    """Return the cursors that go with a list, and its count where it was counted."""
    return {
        "total_entries": page.total,
        "total_entries_limit": page.total if page.capped else None,
        "next_cursor": page.next_cursor,
        "previous_cursor": page.previous_cursor,
    }
