"""Pages of lists: keyset cursors that never slow down with history, beside plain offsets (design section 9).

A cursor holds the sort key of the row where the page ended, so rows added meanwhile neither repeat nor hide others
(case E14). Counting stops at a limit: a total is exact below it, and "more than this" above it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.errors import InvalidOrderError, InvalidRequestError, shown
from treadle_metadata.queries.conditions import Conditions
from treadle_metadata.statements import rows, tuples

COUNT_LIMIT: Final = 10_000
"""Rows that a total counts at most."""

MAX_OFFSET: Final = 100_000
"""Rows that an offset may pass over; further on a cursor is needed."""

MAX_CURSOR: Final = 2_000

NOT_YET: Final[LiteralString] = "'9999-12-31 00:00+00'::timestamptz"
"""Stands for a moment that has not come, so that a sort key is never NULL (``infinity`` has no Python value)."""


@dataclass(frozen=True, slots=True)
class SortKey:
    """A sortable expression (never NULL) and its SQL type, which casts the values of a cursor.

    ``column`` is what has the index and sorts the same way (NULL last, as PostgreSQL has it), where ``sql`` is not it.
    """

    sql: LiteralString
    type: LiteralString
    column: LiteralString = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Which page of a list: ``order_by`` names sort keys, a leading ``-`` means descending.

    ``cursor``: "" asks for the first page of a walk by cursor, None for a page by offset.
    """

    limit: int = 50
    offset: int = 0
    cursor: str | None = None
    order_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some rows of a list. ``total`` is None on a walk by cursor; ``capped`` says that it is only a lower bound."""

    rows: list[dict[str, Any]]
    total: int | None
    capped: bool = False
    next_cursor: str | None = None
    previous_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class _Order:
    names: tuple[str, ...]
    keys: tuple[SortKey, ...]
    descending: tuple[bool, ...]

    def clause(self, *, backwards: bool) -> LiteralString:
        parts = [
            f"{key.column or key.sql} {'DESC' if descending != backwards else 'ASC'}"
            for key, descending in zip(self.keys, self.descending, strict=True)
        ]
        return "ORDER BY " + ", ".join(parts)


def fetch_page(
    connection: Connection,
    *,
    select: LiteralString,
    source: LiteralString,
    conditions: Conditions,
    sorts: Mapping[str, SortKey],
    default: Sequence[str],
    unique: Sequence[str],
    request: PageRequest,
    indexed: Collection[str] | None = None,
) -> Page:
    """Read the page that ``request`` names.

    ``default`` is the order when none is asked for; ``unique`` are the keys that, appended, make any order total;
    ``indexed`` are the keys that may be asked for, None: all of them.

    Raises:
        InvalidOrderError: a sort key that is not known, or that no index carries.
        InvalidRequestError: a cursor that this list did not make, or an offset that is too large.
    """
    known = sorts if indexed is None else indexed
    for one in request.order_by:
        if one.removeprefix("-") not in known:
            raise InvalidOrderError(one.removeprefix("-"), known)
    order = _order(sorts, request.order_by or tuple(default), unique)
    if request.cursor is None:
        return _by_offset(connection, select, source, conditions, order, request)
    return _by_cursor(connection, select, source, conditions, order, request)


def _order(sorts: Mapping[str, SortKey], order_by: Sequence[str], unique: Sequence[str]) -> _Order:
    keys, directions = [], []
    wanted = [*order_by]
    last_down = bool(wanted) and wanted[-1].startswith("-")
    named = {one.removeprefix("-") for one in wanted}
    wanted += [f"-{name}" if last_down else name for name in unique if name not in named]
    for one in wanted:
        name = one.removeprefix("-")
        keys.append(sorts[name])
        directions.append(one.startswith("-"))
    return _Order(tuple(wanted), tuple(keys), tuple(directions))


def _by_offset(
    connection: Connection,
    select: LiteralString,
    source: LiteralString,
    conditions: Conditions,
    order: _Order,
    request: PageRequest,
) -> Page:
    if request.offset > MAX_OFFSET:
        raise InvalidRequestError(
            f"offset {request.offset} is too large: expected at most {MAX_OFFSET}; walk further with 'cursor'"
        )
    # One question for both: the total is counted where there is a further page, and else not. A scan of "page" keeps
    # its order.
    found = rows(
        connection,
        f"""
        WITH page AS MATERIALIZED (
            SELECT {select}{_keys(order)} FROM {source} {conditions.where} {order.clause(backwards=False)}
            LIMIT %(page_limit)s + 1 OFFSET %(page_offset)s
        )
        SELECT page.*, CASE WHEN (SELECT count(*) FROM page) > %(page_limit)s
                            THEN ({_counting(source, conditions)}) END AS page_total
        FROM page
        """,
        conditions.parameters
        | {"page_limit": request.limit, "page_offset": request.offset, "count_limit": COUNT_LIMIT + 1},
    )
    more = len(found) > request.limit
    shown_rows = [dict(row) for row in found[: request.limit]]
    cursor = _cursor(shown_rows[-1], order, backwards=False) if more and shown_rows else None
    seen = request.offset + len(shown_rows)
    counted = seen
    if more:
        counted = found[0]["page_total"]
    elif not shown_rows and request.offset:
        sql = _counting(source, conditions)
        ((counted,),) = tuples(connection, sql, conditions.parameters | {"count_limit": COUNT_LIMIT + 1})
    return Page(
        rows=_without_keys(shown_rows, order),
        total=max(counted, seen + more) if shown_rows else counted,
        capped=counted > COUNT_LIMIT and (more or not shown_rows),
        next_cursor=cursor,
    )


def _counting(source: LiteralString, conditions: Conditions) -> LiteralString:
    return f"SELECT count(*) FROM (SELECT FROM {source} {conditions.where} LIMIT %(count_limit)s) AS counted"


def _by_cursor(
    connection: Connection,
    select: LiteralString,
    source: LiteralString,
    conditions: Conditions,
    order: _Order,
    request: PageRequest,
) -> Page:
    if len(set(order.descending)) > 1:
        raise InvalidRequestError("a walk by cursor needs one direction: let all or none of order_by begin with '-'")
    backwards = False
    bounded = Conditions(list(conditions.parts), dict(conditions.parameters))
    if request.cursor:
        values, backwards = _decoded(request.cursor, order)
        _bound(bounded, order, values, backwards=backwards)
    found = rows(
        connection,
        f"SELECT {select}{_keys(order)} FROM {source} {bounded.where} {order.clause(backwards=backwards)}"
        " LIMIT %(page_limit)s",
        bounded.parameters | {"page_limit": request.limit + 1},
    )
    more = len(found) > request.limit
    page = [dict(row) for row in found[: request.limit]]
    if backwards:
        page.reverse()
    has_next, has_previous = (bool(page), more) if backwards else (more, bool(request.cursor and page))
    following = _cursor(page[-1], order, backwards=False) if has_next and page else None
    preceding = _cursor(page[0], order, backwards=True) if has_previous and page else None
    return Page(rows=_without_keys(page, order), total=None, next_cursor=following, previous_cursor=preceding)


def _bound(conditions: Conditions, order: _Order, values: Sequence[Any], *, backwards: bool) -> None:
    sign = "<" if order.descending[0] != backwards else ">"
    left = ", ".join(key.sql for key in order.keys)
    right = ", ".join(f"%(key_{index})s::{key.type}" for index, key in enumerate(order.keys))
    conditions.add(f"({left}) {sign} ({right})", **{f"key_{index}": value for index, value in enumerate(values)})


def _keys(order: _Order) -> LiteralString:
    return "".join(f", {key.sql} AS key_{index}" for index, key in enumerate(order.keys))


def _without_keys(page: list[dict[str, Any]], order: _Order) -> list[dict[str, Any]]:
    for row in page:
        row.pop("page_total", None)
        for index in range(len(order.keys)):
            row.pop(f"key_{index}")
    return page


def _cursor(row: Mapping[str, Any], order: _Order, *, backwards: bool) -> str:
    values = [_plain(row[f"key_{index}"]) for index in range(len(order.keys))]
    text = json.dumps([int(backwards), order.names, values], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, int) else str(value)


def _decoded(cursor: str, order: _Order) -> tuple[list[Any], bool]:
    refusal = InvalidRequestError(
        f"cursor {shown(cursor, 40)} was not made by this list in this order; begin again without it"
    )
    if len(cursor) > MAX_CURSOR:
        raise refusal
    try:
        content = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        backwards, names, values = content
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise refusal from None
    if names != list(order.names) or not isinstance(values, list) or len(values) != len(names):
        raise refusal
    for key, value in zip(order.keys, values, strict=True):
        if not _fits(key, value):
            raise refusal
    return values, backwards == 1


def _fits(key: SortKey, value: object) -> bool:
    if key.type in {"bigint", "int"}:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    if key.type == "timestamptz":
        return isinstance(value, str) and _is_moment(value)
    return isinstance(value, str) and "\0" not in value


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
