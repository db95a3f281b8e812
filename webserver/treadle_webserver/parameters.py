"""The types of path and query parameters that routes share: ids, pages, ranges of time, strict bodies.

Every id has a pattern and a length, so that a bad one ends as 404 or 422 before anything looks for it.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from fastapi import Path, Query
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field
from typing_extensions import TypedDict

from treadle_metadata.queries.conditions import Between
from treadle_metadata.queries.paging import Page, PageRequest

LARGEST_PAGE: Final = 1000
ALL: Final = "~"
"""Stands for all DAGs or all runs in the path of a list."""

_INT: Final = 2**31 - 1
_BIGINT: Final = 2**63 - 1

_BARE_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")


def start_of_day(value: object) -> object:
    """Return a bare date as its first instant in UTC, anything else as it is."""
    return f"{value}T00:00:00Z" if isinstance(value, str) and _BARE_DATE.fullmatch(value) else value


def end_of_day(value: object) -> object:
    """Return a bare date as its last instant in UTC, anything else as it is."""
    return f"{value}T23:59:59.999999Z" if isinstance(value, str) and _BARE_DATE.fullmatch(value) else value


DagId = Annotated[str, Path(max_length=250, pattern=r"^(~|[\w.-]+)$")]
RunId = Annotated[str, Path(max_length=250, pattern=r"^[A-Za-z0-9_.~:+-]+$")]
TaskId = Annotated[str, Path(max_length=500, pattern=r"^(~|[\w.-]+)$")]
MapIndex = Annotated[int, Path(ge=-1, le=_INT)]
TryNumber = Annotated[int, Path(ge=0, le=_INT)]
VersionNumber = Annotated[int, Path(ge=1, le=_INT)]
RowId = Annotated[int, Path(ge=0, le=_BIGINT)]
Name = Annotated[str, Path(min_length=1, max_length=512)]

MapIndexQuery = Annotated[int, Query(ge=-1, le=_INT)]
Moment = Annotated[AwareDatetime | None, BeforeValidator(start_of_day)]
"""An instant; a bare date is its first one, in UTC."""
EndOfDay = Annotated[AwareDatetime | None, BeforeValidator(end_of_day)]
"""An instant; a bare date is its last one, in UTC: ``lte=2026-03-31`` includes what happens later that day."""
Seconds = Annotated[float, Field(ge=0, le=1e12)] | None
Text = Annotated[str, Field(max_length=512)] | None
TeamName = Annotated[str | None, Query(alias="team_name", max_length=250, description="Whose; else everybody's first")]
"""Which of several that have one name: the team's, or with "" everybody's."""
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


class Ranges(BaseModel):
    """Ranges of what runs and task instances have. A bare date as an end that is included is all of that day."""

    run_after_gte: Moment = None
    run_after_gt: EndOfDay = None
    run_after_lte: EndOfDay = None
    run_after_lt: Moment = None
    logical_date_gte: Moment = None
    logical_date_gt: EndOfDay = None
    logical_date_lte: EndOfDay = None
    logical_date_lt: Moment = None
    start_date_gte: Moment = None
    start_date_gt: EndOfDay = None
    start_date_lte: EndOfDay = None
    start_date_lt: Moment = None
    end_date_gte: Moment = None
    end_date_gt: EndOfDay = None
    end_date_lte: EndOfDay = None
    end_date_lt: Moment = None
    duration_gte: Seconds = None
    duration_gt: Seconds = None
    duration_lte: Seconds = None
    duration_lt: Seconds = None

    def between(self, name: str) -> Between:
        """Return the limits of ``name``; those that this list does not have are open."""
        return Between(**{suffix: getattr(self, f"{name}_{suffix}", None) for suffix in ("gte", "gt", "lte", "lt")})


class RunDatesQuery(Ranges, CursorQuery):
    """Which page of a list of runs or task instances, within ranges."""

    updated_at_gte: Moment = None
    updated_at_gt: EndOfDay = None
    updated_at_lte: EndOfDay = None
    updated_at_lt: Moment = None


class BatchBody(Ranges, StrictBody):
    """Which page of a list that is asked for with a body, since many ids do not fit into an address."""

    page_limit: int = Field(100, ge=0)
    page_offset: int = Field(0, ge=0, le=_BIGINT)
    order_by: Annotated[str, Field(max_length=512)] | None = None

    @property
    def page(self) -> PageRequest:
        """The page, its size clamped."""
        order = () if self.order_by is None else (self.order_by,)
        return PageRequest(limit=min(self.page_limit, LARGEST_PAGE), offset=self.page_offset, order_by=order)


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
