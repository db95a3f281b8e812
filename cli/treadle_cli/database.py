"""How commands reach the metadata database: one transaction for each act, and one line for each way it can fail.

Imports SQLAlchemy, so only modules of commands that need the database import this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from treadle_cli import edge
from treadle_cli.errors import CliError
from treadle_executors.timetables import evaluating
from treadle_metadata.connection import Database
from treadle_metadata.queries.paging import Page, PageRequest
from treadle_metadata.settings import Settings

T = TypeVar("T")

UNDEFINED_TABLE: Final = "42P01"
UNDEFINED_COLUMN: Final = "42703"
PAGE: Final = 1000


def in_database(act: Callable[[Connection], T]) -> T:
    """Run ``act`` in one transaction of the database that the settings name and return its result.

    Raises:
        CliError: the database cannot be reached, or has no tables of this Treadle.
    """
    with opened() as database:
        return database.run(act)


@contextmanager
def opened() -> Iterator[Database]:
    """Open the database that the settings name; errors of the database leave as one line."""
    settings = edge.settings()
    url = database_url(settings)
    database = Database(url, pool_size=1, application_name="treadle command")
    try:
        with evaluating(settings):
            yield database
    except (DBAPIError, psycopg.Error) as error:
        raise CliError(_sentence(error, url)) from error
    finally:
        database.close()


def database_url(settings: Settings) -> str:
    """Return the URL of the database.

    Raises:
        CliError: no database is set, and no embedded one was ever made in this home.
    """
    if settings.database_url:
        return settings.database_url
    raise CliError(
        f"no database is running at {settings.home}: start `treadle standalone`, or set TREADLE_HOME to where it was "
        "started, or TREADLE_DATABASE_URL"
    )


def place(url: str) -> str:
    """Return where the database of ``url`` is, without user and password."""
    parts = urlsplit(url)
    host = unquote(parse_qs(parts.query).get("host", [""])[0]) or parts.hostname or "localhost"
    port = f":{parts.port}" if parts.port else ""
    return f"{host}{port}{parts.path if not host.startswith('/') else ''}"


def every(fetch: Callable[[PageRequest], Page], most: int | None = None) -> list[dict[str, Any]]:
    """Walk a list by cursor and return all its rows, or the first ``most``."""
    rows: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None and (most is None or len(rows) < most):
        limit = PAGE if most is None else min(PAGE, most - len(rows))
        page = fetch(PageRequest(limit=limit, cursor=cursor))
        rows += page.rows
        cursor = page.next_cursor
    return rows


def _sentence(error: DBAPIError | psycopg.Error, url: str) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else error
    state = getattr(cause, "sqlstate", None)
    said = next(iter(str(cause).splitlines()), "")
    if state in (UNDEFINED_TABLE, UNDEFINED_COLUMN):
        return f"the database at {place(url)} lacks tables of this Treadle: run `treadle db migrate`"
    if isinstance(cause, psycopg.OperationalError) and state is None:
        start = "start `treadle standalone` or set TREADLE_DATABASE_URL"
        return f"no database is running at {place(url)}: {start} ({_reason(said)})"
    return f"the database at {place(url)} refused: {said}"


def _reason(said: str) -> str:
    return said.rsplit("failed: ", 1)[-1].strip() or "no answer"
