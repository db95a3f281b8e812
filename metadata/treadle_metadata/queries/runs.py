"""Runs: one, and pages of them, of one DAG or of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.conditions import ANYTIME, Between, Conditions
from treadle_metadata.queries.dags import check_dag
from treadle_metadata.queries.paging import NOT_YET, Page, PageRequest, SortKey, fetch_page
from treadle_metadata.statements import rows
from treadle_metadata.states import RunState

_SELECT: Final[LiteralString] = (
    "run.*, dag.display_name AS dag_display_name, version.number AS version_number,"
    " version.created_at AS version_created_at"
)
SOURCE: Final[LiteralString] = (
    "dag_run AS run JOIN dag ON dag.dag_id = run.dag_id JOIN dag_version AS version ON version.id = run.version_id"
)
"""A run with its DAG and its version: what lists and pages of runs select from."""

_SORTS: Final = {
    "id": SortKey("run.id", "bigint"),
    "run_after": SortKey("run.run_after", "timestamptz"),
    "logical_date": SortKey(f"coalesce(run.logical_date, {NOT_YET})", "timestamptz", "run.logical_date"),
    "dag_id": SortKey("run.dag_id", "text"),
    "run_id": SortKey("run.run_id", "text"),
    "dag_run_id": SortKey("run.run_id", "text"),
}

# What may be asked for: a page of a million runs must not sort them all.
_INDEXED: Final = ("run_after", "id", "dag_id")
_INDEXED_OF_DAG: Final = ("run_after", "logical_date", "run_id", "dag_run_id")

_DURATION: Final[LiteralString] = "extract(epoch FROM run.ended_at - run.started_at)"
_CHANGED: Final[LiteralString] = "greatest(run.queued_at, run.started_at, run.ended_at)"
_CONSUMED: Final[LiteralString] = (
    "SELECT FROM dag_run_asset_event AS consumed JOIN asset_event AS event ON event.id = consumed.event_id"
    " JOIN asset ON asset.id = event.asset_id WHERE consumed.dag_run_id = run.id"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """What runs are wanted; ``dag_id`` None means of all DAGs, or of ``dag_ids``."""

    dag_id: str | None = None
    dag_ids: Sequence[str] = ()
    run_ids: Sequence[str] = ()
    states: Sequence[str] = ()
    run_types: Sequence[str] = ()
    version_numbers: Sequence[int] = ()
    run_id_pattern: str | None = None
    run_id_prefix: str | None = None
    dag_id_pattern: str | None = None
    dag_id_prefix: str | None = None
    user_pattern: str | None = None
    user_prefix: str | None = None
    partition_pattern: str | None = None
    partition_prefix: str | None = None
    partition_key: str | None = None
    conf_contains: str | None = None
    """A JSON object that the conf contains, or a part of its text."""
    asset_pattern: str | None = None
    """Part of the name or URI of an asset whose event the run was made of."""
    run_after: Between = ANYTIME
    logical_date: Between = ANYTIME
    started: Between = ANYTIME
    ended: Between = ANYTIME
    changed: Between = ANYTIME
    """When the run was last queued, started or ended."""
    partition_date: Between = ANYTIME
    duration: Between = ANYTIME
    """In seconds, of runs that have ended."""


def get_run(connection: Connection, dag_id: str, run_id: str) -> dict[str, Any]:
    """Return the run, with ``dag_display_name``, ``version_number`` and ``version_created_at``.

    Raises:
        NotFoundError: there is no such DAG or no such run.
    """
    return one_run(connection, _SELECT, dag_id, run_id)


def one_run(connection: Connection, select: LiteralString, dag_id: str, run_id: str) -> dict[str, Any]:
    """Return the columns ``select`` of ``SOURCE`` for one run.

    Raises:
        NotFoundError: there is no such DAG or no such run.
    """
    sql = f"SELECT {select} FROM {SOURCE} WHERE run.dag_id = %(dag_id)s AND run.run_id = %(run_id)s"
    found = rows(connection, sql, {"dag_id": dag_id, "run_id": run_id})
    if found:
        return dict(found[0])
    check_dag(connection, dag_id)
    raise NotFoundError(f"run of DAG {dag_id!r}", run_id)


def with_names(connection: Connection, run: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of ``dag_run`` with what ``get_run`` adds to it: cheaper than to read the row again."""
    sql = """
        SELECT dag.display_name AS dag_display_name, version.number AS version_number,
               version.created_at AS version_created_at
        FROM dag, dag_version AS version
        WHERE dag.dag_id = %(dag_id)s AND version.id = %(version_id)s
    """
    (names,) = rows(connection, sql, {"dag_id": run["dag_id"], "version_id": run["version_id"]})
    return dict(run) | dict(names)


def list_runs(connection: Connection, wanted: RunFilter, page: PageRequest) -> Page:
    """Return a page of runs, by default the newest (by ``run_after``) first."""
    conditions = Conditions()
    conditions.equals("run.dag_id", "dag_id", wanted.dag_id)
    conditions.any_of("run.dag_id", "dag_ids", wanted.dag_ids)
    conditions.any_of("run.run_id", "run_ids", wanted.run_ids)
    conditions.states("run.state", RunState, wanted.states)
    conditions.any_of("run.run_type", "run_types", wanted.run_types)
    conditions.any_of("version.number", "version_numbers", wanted.version_numbers)
    conditions.equals("run.partition_key", "partition_key", wanted.partition_key)
    _match(conditions, wanted)
    conditions.between("run.run_after", "run_after", wanted.run_after)
    conditions.between("run.logical_date", "logical_date", wanted.logical_date)
    conditions.between("run.started_at", "started", wanted.started)
    conditions.between("run.ended_at", "ended", wanted.ended)
    conditions.between(_CHANGED, "changed", wanted.changed)
    conditions.between("run.partition_date", "partition_date", wanted.partition_date)
    conditions.between(_DURATION, "duration", wanted.duration)
    return fetch_page(
        connection,
        select=_SELECT,
        source=SOURCE,
        conditions=conditions,
        sorts=_SORTS,
        default=("-run_after",),
        unique=("id",),
        request=page,
        indexed=_INDEXED if wanted.dag_id is None else _INDEXED_OF_DAG,
    )


def _match(conditions: Conditions, wanted: RunFilter) -> None:
    conditions.pattern("run.run_id", "run_id_pattern", wanted.run_id_pattern)
    conditions.prefix("run.run_id", "run_id_prefix", wanted.run_id_prefix)
    conditions.pattern("run.dag_id", "dag_id_pattern", wanted.dag_id_pattern)
    conditions.prefix("run.dag_id", "dag_id_prefix", wanted.dag_id_prefix)
    conditions.pattern("run.triggering_user", "user_pattern", wanted.user_pattern)
    conditions.prefix("run.triggering_user", "user_prefix", wanted.user_prefix)
    conditions.pattern("run.partition_key", "partition_pattern", wanted.partition_pattern)
    conditions.prefix("run.partition_key", "partition_prefix", wanted.partition_prefix)
    conditions.contains("run.conf", "conf_contains", wanted.conf_contains)
    if wanted.asset_pattern and wanted.asset_pattern != "~":
        assets = Conditions()
        assets.pattern("concat_ws(' ', asset.name, asset.uri)", "asset_pattern", wanted.asset_pattern)
        conditions.add(f"EXISTS ({_CONSUMED} AND {assets.parts[0]})", **assets.parameters)
