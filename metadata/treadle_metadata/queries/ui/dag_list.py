"""The page of DAGs: a page by keyset, the newest runs of each, the favourites of who asks, and counts for the tabs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.conditions import Conditions, containing
from treadle_metadata.queries.dags import no_such_dag
from treadle_metadata.queries.paging import NOT_YET, Page, PageRequest, SortKey, fetch_page
from treadle_metadata.statements import rows, tuples
from treadle_metadata.states import RunState

_SELECT: Final[LiteralString] = """
    dag.dag_id, dag.display_name, dag.description, dag.file, dag.tags, dag.owners, dag.is_paused, dag.is_active,
    dag.has_import_errors, dag.schedule_summary, dag.next_run_at, dag.next_logical_date, dag.at_run_limit,
    dag.max_active_runs, dag.last_parsed_at, favorite.dag_id IS NOT NULL AS is_favorite
"""
_SOURCE: Final[LiteralString] = """
    dag LEFT JOIN dag_favorite AS favorite ON favorite.dag_id = dag.dag_id AND favorite.username = %(username)s
"""
_SORTS: Final = {
    "dag_id": SortKey("dag.dag_id", "text"),
    "name": SortKey("coalesce(dag.display_name, dag.dag_id)", "text"),
    "next_run_at": SortKey(f"coalesce(dag.next_run_at, {NOT_YET})", "timestamptz"),
}

_LAST_STATE: Final[LiteralString] = """
    (SELECT newest.state FROM dag_run AS newest WHERE newest.dag_id = dag.dag_id
     ORDER BY newest.run_after DESC, newest.id DESC LIMIT 1)
"""

_RECENT: Final[LiteralString] = """
    SELECT run.dag_id, run.run_id, run.state, run.run_type, run.run_after, run.started_at, run.ended_at
    FROM unnest(%(dag_ids)s::text[]) AS wanted (dag_id) CROSS JOIN LATERAL (
        SELECT * FROM dag_run WHERE dag_run.dag_id = wanted.dag_id ORDER BY run_after DESC, id DESC LIMIT %(recent)s
    ) AS run
"""

_COUNTS: Final[LiteralString] = """
    SELECT count(*) FILTER (WHERE is_active) AS all_dags,
           count(*) FILTER (WHERE is_active AND NOT is_paused) AS unpaused,
           count(*) FILTER (WHERE is_active AND is_paused) AS paused,
           count(*) FILTER (WHERE is_active AND has_import_errors) AS broken,
           count(*) FILTER (WHERE is_active AND dag_id IN (
               SELECT dag_id FROM dag_run WHERE state IN ('queued', 'running'))) AS running,
           count(*) FILTER (WHERE is_active AND dag_id IN (
               SELECT dag_id FROM dag_favorite WHERE username = %(username)s)) AS favorites
    FROM dag
"""

_OVERVIEW: Final[LiteralString] = f"""
    SELECT {_SELECT}, version.id AS version_id, version.number AS version_number, version.hash, version.file_hash,
           (SELECT count(*) FROM dag_run AS run WHERE run.dag_id = dag.dag_id AND run.state = 'queued'
               AND run.backfill_id IS NULL) AS queued_runs,
           (SELECT count(*) FROM dag_run AS run WHERE run.dag_id = dag.dag_id AND run.state = 'running'
               AND run.backfill_id IS NULL) AS running_runs,
           (SELECT jsonb_agg(jsonb_build_object('kind', kind, 'message', message) ORDER BY kind)
            FROM dag_warning AS warning WHERE warning.dag_id = dag.dag_id) AS warnings,
           (SELECT message FROM import_error AS error WHERE error.file = dag.file) AS import_error
    FROM {_SOURCE} LEFT JOIN dag_version AS version ON version.id = dag.version_id
    WHERE dag.dag_id = %(dag_id)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DagSearch:
    """What DAGs a person looks for; ``text`` is a part of the id, the name or the description."""

    text: str | None = None
    tags: Sequence[str] = ()
    owners: Sequence[str] = ()
    paused: bool | None = None
    active: bool = True
    broken: bool | None = None
    running: bool | None = None
    last_state: str | None = None
    favorites: bool = False


def list_dags(
    connection: Connection, wanted: DagSearch, page: PageRequest, *, username: str, recent: int
) -> tuple[Page, dict[str, list[Mapping[str, Any]]]]:
    """Return a page of DAGs, and the newest ``recent`` runs of each, the newest first, by DAG."""
    conditions = _conditions(wanted)
    conditions.parameters["username"] = username
    found = fetch_page(
        connection,
        select=_SELECT,
        source=_SOURCE,
        conditions=conditions,
        sorts=_SORTS,
        default=("dag_id",),
        unique=("dag_id",),
        request=page,
    )
    return found, recent_runs(connection, [row["dag_id"] for row in found.rows], recent)


def recent_runs(connection: Connection, dag_ids: Sequence[str], recent: int) -> dict[str, list[Mapping[str, Any]]]:
    """Return the newest ``recent`` runs of each of these DAGs, the newest first."""
    found: dict[str, list[Mapping[str, Any]]] = {dag_id: [] for dag_id in dag_ids}
    if dag_ids and recent:
        for row in rows(connection, _RECENT, {"dag_ids": list(dag_ids), "recent": recent}):
            found[row["dag_id"]].append(row)
    return found


def _conditions(wanted: DagSearch) -> Conditions:
    conditions = Conditions()
    if wanted.active:
        conditions.add("dag.is_active")
    conditions.equals("dag.is_paused", "paused", wanted.paused)
    conditions.equals("dag.has_import_errors", "broken", wanted.broken)
    if wanted.text:
        conditions.add(
            "(dag.dag_id ILIKE %(text)s OR dag.display_name ILIKE %(text)s OR dag.description ILIKE %(text)s)",
            text=containing(wanted.text),
        )
    if wanted.tags:
        conditions.add("dag.tags @> %(tags)s::text[]", tags=list(wanted.tags))
    if wanted.owners:
        conditions.add("dag.owners && %(owners)s::text[]", owners=list(wanted.owners))
    if wanted.running is not None:
        conditions.add(
            "(dag.dag_id IN (SELECT dag_id FROM dag_run WHERE state IN ('queued', 'running'))) = %(running)s",
            running=wanted.running,
        )
    if wanted.last_state is not None:
        conditions.states(_LAST_STATE, RunState, [wanted.last_state])
    if wanted.favorites:
        conditions.add("favorite.dag_id IS NOT NULL")
    return conditions


def count_dags(connection: Connection, *, username: str) -> dict[str, int]:
    """Return how many DAGs there are: in all, unpaused, paused, broken, running, favourites."""
    return dict(rows(connection, _COUNTS, {"username": username})[0])


def labels(connection: Connection) -> tuple[list[str], list[str]]:
    """Return all tags and all owners of the DAGs that are there, sorted."""
    found = tuples(
        connection,
        """
        SELECT DISTINCT kind, name FROM dag CROSS JOIN LATERAL (
            SELECT 'tag', name FROM unnest(dag.tags) AS name UNION ALL
            SELECT 'owner', name FROM unnest(dag.owners) AS name
        ) AS label (kind, name)
        WHERE dag.is_active
        ORDER BY name
        """,
        {},
    )
    return [name for kind, name in found if kind == "tag"], [name for kind, name in found if kind == "owner"]


def get_overview(connection: Connection, dag_id: str, *, username: str) -> dict[str, Any]:
    """Return what the head of a DAG's page shows.

    Raises:
        NotFoundError: there is no such DAG.
    """
    found = rows(connection, _OVERVIEW, {"dag_id": dag_id, "username": username})
    if not found:
        raise no_such_dag(connection, dag_id)
    return dict(found[0])


def require_version(row: Mapping[str, Any]) -> int:
    """Return the id of the newest version of a DAG (a row of ``get_overview``).

    Raises:
        NotFoundError: it has none.
    """
    if row["version_id"] is None:
        raise NotFoundError(f"version of DAG {row['dag_id']!r}", "newest")
    return int(row["version_id"])
