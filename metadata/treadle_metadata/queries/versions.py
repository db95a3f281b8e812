"""Versions of DAGs: their documents (the plain-JSON form) and their source text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle.document import DagDocument, loads
from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.conditions import Conditions
from treadle_metadata.queries.dags import check_dag
from treadle_metadata.queries.paging import Page, PageRequest, SortKey, fetch_page
from treadle_metadata.statements import rows, tuples

_SELECT: Final[LiteralString] = (
    "version.id, version.dag_id, version.number, version.hash, version.file_hash, version.created_at, dag.display_name"
)
_SOURCE: Final[LiteralString] = "dag_version AS version JOIN dag ON dag.dag_id = version.dag_id"

_SORTS: Final = {
    "version_number": SortKey("version.number", "int"),
    "created_at": SortKey("version.created_at", "timestamptz"),
    "id": SortKey("version.id", "bigint"),
}


def list_versions(connection: Connection, dag_id: str | None, page: PageRequest, *, number: int | None = None) -> Page:
    """Return a page of the versions of a DAG (or of all), the newest first, without documents and code."""
    conditions = Conditions()
    conditions.equals("version.dag_id", "dag_id", dag_id)
    conditions.equals("version.number", "number", number)
    return fetch_page(
        connection,
        select=_SELECT,
        source=_SOURCE,
        conditions=conditions,
        sorts=_SORTS,
        default=("-version_number",),
        unique=("id",),
        request=page,
    )


def get_version(connection: Connection, dag_id: str, number: int | None = None) -> dict[str, Any]:
    """Return a version of a DAG with ``document`` (decoded JSON) and its newest ``code``; the newest without number.

    Raises:
        NotFoundError: there is no such DAG, or it has no such version.
    """
    found = rows(
        connection,
        f"""
        SELECT {_SELECT}, version.document, coalesce(code.source, '') AS code
        FROM {_SOURCE} LEFT JOIN dag_code AS code ON code.hash = version.file_hash
        WHERE version.dag_id = %(dag_id)s
          AND (version.number = %(number)s::int OR (%(number)s::int IS NULL AND version.id = dag.version_id))
        """,
        {"dag_id": dag_id, "number": number},
    )
    if found:
        return dict(found[0])
    check_dag(connection, dag_id)
    raise NotFoundError(f"version of DAG {dag_id!r}", "newest" if number is None else number)


def newest_document(connection: Connection, dag_id: str) -> DagDocument:
    """Return the document of a DAG's newest version.

    Raises:
        NotFoundError: there is no such DAG.
    """
    return loads(get_version(connection, dag_id)["document"])


def source_of(connection: Connection, code_hash: str | None) -> str | None:
    """Return the text with this SHA-256 (``task_attempt.code_hash``, ``dag_version.file_hash``); None if not kept."""
    found = rows(connection, "SELECT source FROM dag_code WHERE hash = %(hash)s", {"hash": code_hash})
    return str(found[0]["source"]) if found else None


def text_of_dag(connection: Connection, dag_id: str, code_hash: str) -> str:
    """Return a text that some version of a DAG has had.

    Raises:
        NotFoundError: none of its versions has had it.
    """
    found = rows(
        connection,
        """
        SELECT code.source FROM dag_code AS code
        WHERE code.hash = %(hash)s AND EXISTS (
            SELECT FROM dag_version_code AS had JOIN dag_version AS version ON version.id = had.version_id
            WHERE had.hash = code.hash AND version.dag_id = %(dag_id)s)
        """,
        {"hash": code_hash, "dag_id": dag_id},
    )
    if not found:
        raise NotFoundError(f"text of DAG {dag_id!r}", code_hash)
    return str(found[0]["source"])


def older_sources(connection: Connection, version_ids: Iterable[int]) -> dict[int, str]:
    """Return the newest text of each of these versions whose DAG's newest version has another one."""
    wanted = list(version_ids)
    if not wanted:
        return {}
    found = tuples(
        connection,
        """
        SELECT version.id, code.source
        FROM dag_version AS version JOIN dag ON dag.dag_id = version.dag_id
        JOIN dag_version AS newest ON newest.id = dag.version_id
        JOIN dag_code AS code ON code.hash = version.file_hash
        WHERE version.id = ANY(%(ids)s) AND version.file_hash <> newest.file_hash
        """,
        {"ids": wanted},
    )
    return {row[0]: row[1] for row in found}
