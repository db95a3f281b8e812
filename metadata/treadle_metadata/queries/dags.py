"""DAGs: one, a page of them, their tags, their counts of runs, and what the processor found wrong with them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, Literal, LiteralString

from sqlalchemy import Connection

from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.conditions import ANYTIME, Between, Conditions
from treadle_metadata.queries.paging import NOT_YET, Page, PageRequest, SortKey, fetch_page
from treadle_metadata.statements import rows, tuples
from treadle_metadata.states import RunState

_SELECT: Final[LiteralString] = """
    dag.*, version.number AS version_number, coalesce(version.schedule_kind, 'none') AS schedule_kind,
    version.has_task_limits, version.is_partitioned
"""
_SOURCE: Final[LiteralString] = "dag LEFT JOIN dag_version AS version ON version.id = dag.version_id"

_REFERENCES: Final[LiteralString] = "SELECT FROM asset_reference AS reference WHERE reference.dag_id = dag.dag_id"
_HAS_ASSET_SCHEDULE: Final[LiteralString] = f"EXISTS ({_REFERENCES} AND reference.role = 'schedule')"

_SORTS: Final = {
    "dag_id": SortKey("dag.dag_id", "text"),
    "dag_display_name": SortKey("coalesce(dag.display_name, dag.dag_id)", "text"),
    "next_dagrun": SortKey(f"coalesce(dag.next_run_at, {NOT_YET})", "timestamptz"),
    "last_parsed_time": SortKey(f"coalesce(dag.last_parsed_at, {NOT_YET})", "timestamptz"),
}

_KNOWN_FOR_HINT: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DagFilter:
    """What DAGs are wanted. ``active`` None means those whose file is gone as well."""

    tags: Sequence[str] = ()
    tags_match: Literal["any", "all"] = "any"
    owners: Sequence[str] = ()
    paused: bool | None = None
    active: bool | None = True
    has_import_errors: bool | None = None
    dag_id_pattern: str | None = None
    dag_id_prefix: str | None = None
    display_name_pattern: str | None = None
    display_name_prefix: str | None = None
    last_run_state: str | None = None
    run_states: Sequence[str] = ()
    """Of DAGs that have a run in one of these states, started and ended within the limits."""
    run_started: Between = ANYTIME
    run_ended: Between = ANYTIME
    schedule_kinds: Sequence[str] = ()
    favorite: bool | None = None
    """Of the favourites of ``username``, or of all others."""
    username: str = ""
    none: bool = False
    """Whether the filter is known to fit no DAG."""
    has_asset_schedule: bool | None = None
    asset_pattern: str | None = None
    """Part of the name of an asset that the DAG's schedule or one of its tasks names."""


def get_dag(connection: Connection, dag_id: str) -> dict[str, Any]:
    """Return the DAG with ``version_number``, ``schedule_kind`` and ``has_task_limits`` of its newest version.

    Raises:
        NotFoundError: there is no such DAG; the message names the nearest id.
    """
    found = rows(connection, f"SELECT {_SELECT} FROM {_SOURCE} WHERE dag.dag_id = %(dag_id)s", {"dag_id": dag_id})
    if not found:
        raise no_such_dag(connection, dag_id)
    return dict(found[0])


def check_dag(connection: Connection, dag_id: str) -> None:
    """Look whether there is such a DAG.

    Raises:
        NotFoundError: there is none; the message names the nearest id.
    """
    if not tuples(connection, "SELECT FROM dag WHERE dag_id = %(dag_id)s", {"dag_id": dag_id}):
        raise no_such_dag(connection, dag_id)


def no_such_dag(connection: Connection, dag_id: str) -> NotFoundError:
    """Return the error that there is no such DAG, with the nearest id, and a broken file that is named like it."""
    known = tuples(connection, "SELECT dag_id FROM dag ORDER BY dag_id LIMIT %(limit)s", {"limit": _KNOWN_FOR_HINT})
    broken = tuples(
        connection, "SELECT file FROM import_error ORDER BY file LIMIT %(limit)s", {"limit": _KNOWN_FOR_HINT}
    )
    stems = {PurePosixPath(row[0]).stem: row[0] for row in broken}
    named = difflib.get_close_matches(dag_id, stems, n=1, cutoff=0.75)
    advice = ""
    if named:
        advice = f"; its file may be {stems[named[0]]}, which cannot be read: treadle dags list-import-errors"
    return NotFoundError("DAG", dag_id, [row[0] for row in known], advice=advice)


def is_dag_file(connection: Connection, file: str) -> bool:
    """Tell whether a DAG is defined in ``file``, or could not be for an error."""
    sql = """
        SELECT EXISTS (SELECT FROM dag WHERE file = %(file)s)
            OR EXISTS (SELECT FROM import_error WHERE file = %(file)s)
    """
    ((found,),) = tuples(connection, sql, {"file": file})
    return bool(found)


def error_of_file(connection: Connection, file: str) -> str | None:
    """Return the first line of what is wrong with a DAG file, or None."""
    found = tuples(connection, "SELECT message FROM import_error WHERE file = %(file)s", {"file": file})
    return str(found[0][0]).partition("\n")[0] if found else None


def list_dags(connection: Connection, wanted: DagFilter, page: PageRequest) -> Page:
    """Return a page of DAGs, by default in the order of their ids."""
    conditions = _conditions(wanted)
    return fetch_page(
        connection,
        select=_SELECT,
        source=_SOURCE,
        conditions=conditions,
        sorts=_SORTS,
        default=("dag_id",),
        unique=("dag_id",),
        request=page,
    )


def matching_ids(connection: Connection, wanted: DagFilter) -> list[str]:
    """Return the ids of all DAGs that match, sorted."""
    conditions = _conditions(wanted)
    sql = f"SELECT dag.dag_id FROM dag {conditions.where} ORDER BY dag.dag_id"
    return [row[0] for row in tuples(connection, sql, conditions.parameters)]


def _conditions(wanted: DagFilter) -> Conditions:
    conditions = Conditions()
    conditions.equals("dag.is_paused", "paused", wanted.paused)
    conditions.equals("dag.is_active", "active", wanted.active)
    conditions.equals("dag.has_import_errors", "has_import_errors", wanted.has_import_errors)
    if wanted.tags:
        match: LiteralString = "@>" if wanted.tags_match == "all" else "&&"
        conditions.add(f"dag.tags {match} %(tags)s::text[]", tags=list(wanted.tags))
    if wanted.owners:
        conditions.add("dag.owners && %(owners)s::text[]", owners=list(wanted.owners))
    conditions.pattern("dag.dag_id", "dag_id_pattern", wanted.dag_id_pattern)
    conditions.prefix("dag.dag_id", "dag_id_prefix", wanted.dag_id_prefix)
    conditions.pattern("coalesce(dag.display_name, dag.dag_id)", "display_name", wanted.display_name_pattern)
    conditions.prefix("coalesce(dag.display_name, dag.dag_id)", "display_prefix", wanted.display_name_prefix)
    if wanted.favorite is not None:
        marked: LiteralString = "SELECT FROM dag_favorite AS marked WHERE marked.dag_id = dag.dag_id"
        conditions.add(
            f"{'' if wanted.favorite else 'NOT '}EXISTS ({marked} AND marked.username = %(username)s)",
            username=wanted.username,
        )
    if wanted.none:
        conditions.add("FALSE")
    _with_runs(conditions, wanted)
    if wanted.schedule_kinds:
        # Of the version, by a query of its own: who only counts DAGs does not join their versions.
        conditions.add(
            "(SELECT coalesce(newest.schedule_kind, 'none') FROM dag_version AS newest"
            " WHERE newest.id = dag.version_id) = ANY(%(schedule_kinds)s)",
            schedule_kinds=list(wanted.schedule_kinds),
        )
    if wanted.has_asset_schedule is not None:
        conditions.add(f"{'' if wanted.has_asset_schedule else 'NOT '}{_HAS_ASSET_SCHEDULE}")
    if wanted.asset_pattern and wanted.asset_pattern != "~":
        names = Conditions()
        names.pattern("reference.name", "asset_pattern", wanted.asset_pattern)
        conditions.add(f"EXISTS ({_REFERENCES} AND {names.parts[0]})", **names.parameters)
    if wanted.last_run_state is not None:
        conditions.states(
            "(SELECT newest.state FROM dag_run AS newest WHERE newest.dag_id = dag.dag_id"
            " ORDER BY newest.run_after DESC, newest.id DESC LIMIT 1)",
            RunState,
            [wanted.last_run_state],
        )
    return conditions


def _with_runs(conditions: Conditions, wanted: DagFilter) -> None:
    runs = Conditions()
    runs.states("had.state", RunState, wanted.run_states)
    runs.between("had.started_at", "run_started", wanted.run_started)
    runs.between("had.ended_at", "run_ended", wanted.run_ended)
    if runs.parts:
        sql = " AND ".join(runs.parts)
        conditions.add(
            f"EXISTS (SELECT FROM dag_run AS had WHERE had.dag_id = dag.dag_id AND {sql})", **runs.parameters
        )


def list_tags(connection: Connection, *, pattern: str | None = None, prefix: str | None = None) -> list[str]:
    """Return the tags of all active DAGs, sorted."""
    conditions = Conditions()
    conditions.add("dag.is_active")
    conditions.pattern("tag", "tag", pattern)
    conditions.prefix("tag", "tag_prefix", prefix)
    sql = f"SELECT DISTINCT tag FROM dag CROSS JOIN unnest(dag.tags) AS tag {conditions.where} ORDER BY tag"
    return [row[0] for row in tuples(connection, sql, conditions.parameters)]


def active_run_count(connection: Connection, dag_id: str) -> int:
    """Return how many runs of the DAG are queued or running."""
    sql = """
        SELECT (SELECT count(*) FROM dag_run WHERE dag_id = %(dag_id)s AND state = 'running')
             + (SELECT count(*) FROM dag_run WHERE dag_id = %(dag_id)s AND state = 'queued')
    """
    ((count,),) = tuples(connection, sql, {"dag_id": dag_id})
    return int(count)


_STATS: Final[LiteralString] = """
    SELECT dag.dag_id, dag.display_name, counted.state, counted.count
    FROM dag
    CROSS JOIN LATERAL (
        SELECT 'running' AS state, count(*) FROM dag_run WHERE dag_id = dag.dag_id AND state = 'running'
        UNION ALL
        SELECT 'queued', count(*) FROM dag_run WHERE dag_id = dag.dag_id AND state = 'queued'
        UNION ALL
        SELECT 'failed', count(*) FROM dag_run WHERE dag_id = dag.dag_id AND state = 'failed'
        UNION ALL
        SELECT 'success', count(*) FROM dag_run WHERE dag_id = dag.dag_id AND state = 'success'
    ) AS counted
    WHERE dag.dag_id = ANY(%(dag_ids)s)
    ORDER BY dag.dag_id
"""


def run_counts(connection: Connection, dag_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return (dag_id, display_name, state, count) for every run state of the given DAGs."""
    return [dict(row) for row in rows(connection, _STATS, {"dag_ids": list(dag_ids)})]


_IMPORT_ERRORS: Final = {
    "import_error_id": SortKey("import_error.id", "bigint"),
    "id": SortKey("import_error.id", "bigint"),
    "timestamp": SortKey("import_error.occurred_at", "timestamptz"),
    "filename": SortKey("import_error.file", "text"),
}


def list_import_errors(
    connection: Connection,
    page: PageRequest,
    *,
    file: str | None = None,
    pattern: str | None = None,
    prefix: str | None = None,
) -> Page:
    """Return a page of files that could not be imported."""
    conditions = Conditions()
    conditions.equals("import_error.file", "file", file)
    conditions.pattern("import_error.file", "pattern", pattern)
    conditions.prefix("import_error.file", "prefix", prefix)
    return fetch_page(
        connection,
        select="import_error.*",
        source="import_error",
        conditions=conditions,
        sorts=_IMPORT_ERRORS,
        default=("id",),
        unique=("id",),
        request=page,
    )


def get_import_error(connection: Connection, error_id: int) -> dict[str, Any]:
    """Return one import error.

    Raises:
        NotFoundError: there is none (any more).
    """
    found = rows(connection, "SELECT * FROM import_error WHERE id = %(id)s", {"id": error_id})
    if not found:
        raise NotFoundError("import error", error_id)
    return dict(found[0])


_WARNINGS: Final = {
    "dag_id": SortKey("dag_warning.dag_id", "text"),
    "warning_type": SortKey("dag_warning.kind", "text"),
    "timestamp": SortKey("dag_warning.noticed_at", "timestamptz"),
}


def list_warnings(
    connection: Connection, page: PageRequest, *, dag_id: str | None = None, kind: str | None = None
) -> Page:
    """Return a page of the warnings about DAGs."""
    conditions = Conditions()
    conditions.equals("dag_warning.dag_id", "dag_id", dag_id)
    conditions.equals("dag_warning.kind", "kind", kind)
    return fetch_page(
        connection,
        select="dag_warning.*, dag.display_name",
        source="dag_warning LEFT JOIN dag ON dag.dag_id = dag_warning.dag_id",
        conditions=conditions,
        sorts=_WARNINGS,
        default=("dag_id",),
        unique=("dag_id", "warning_type"),
        request=page,
    )
