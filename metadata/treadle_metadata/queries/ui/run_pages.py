"""Runs for the UI: the list over all DAGs, one run with its neighbours and counts, states of its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.queries.conditions import Conditions, containing
from treadle_metadata.queries.paging import NOT_YET, Page, PageRequest, SortKey, fetch_page
from treadle_metadata.queries.runs import SOURCE, one_run
from treadle_metadata.statements import rows
from treadle_metadata.states import RunState

_SELECT: Final[LiteralString] = """
    run.id, run.month, run.dag_id, dag.display_name, run.run_id, run.state, run.run_type, run.run_after,
    run.logical_date, run.interval_start, run.interval_end, run.queued_at, run.started_at, run.ended_at, run.note,
    run.conf, run.triggered_by, run.triggering_user, run.backfill_id, run.clear_number, run.ending, run.partition_key,
    run.version_id, version.number AS version_number
"""
_SORTS: Final = {
    "run_after": SortKey("run.run_after", "timestamptz"),
    "ended_at": SortKey(f"coalesce(run.ended_at, {NOT_YET})", "timestamptz"),
    "id": SortKey("run.id", "bigint"),
}

_NEIGHBOURS: Final[LiteralString] = """
    SELECT (SELECT other.run_id FROM dag_run AS other
            WHERE other.dag_id = %(dag_id)s AND (other.run_after, other.id) < (%(run_after)s, %(id)s)
            ORDER BY other.run_after DESC, other.id DESC LIMIT 1) AS previous_run_id,
           (SELECT other.run_id FROM dag_run AS other
            WHERE other.dag_id = %(dag_id)s AND (other.run_after, other.id) > (%(run_after)s, %(id)s)
            ORDER BY other.run_after, other.id LIMIT 1) AS next_run_id,
           (SELECT jsonb_object_agg(state, number) FROM (
                SELECT state, count(*) AS number FROM task_instance
                WHERE dag_run_id = %(id)s AND month = %(month)s GROUP BY state) AS counted) AS counts
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSearch:
    """What runs a person looks for; ``text`` is a part of the DAG's id or of the run's."""

    dag_id: str | None = None
    states: Sequence[str] = ()
    run_types: Sequence[str] = ()
    text: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    ended_since: datetime | None = None
    user: str | None = None


def list_runs(connection: Connection, wanted: RunSearch, page: PageRequest) -> Page:
    """Return a page of runs, the newest first."""
    conditions = Conditions()
    conditions.equals("run.dag_id", "dag_id", wanted.dag_id)
    conditions.states("run.state", RunState, wanted.states)
    conditions.any_of("run.run_type", "run_types", wanted.run_types)
    conditions.equals("run.triggering_user", "user", wanted.user)
    if wanted.text:
        conditions.add("(run.dag_id ILIKE %(text)s OR run.run_id ILIKE %(text)s)", text=containing(wanted.text))
    if wanted.since is not None:
        conditions.add("run.run_after >= %(since)s", since=wanted.since)
    if wanted.until is not None:
        conditions.add("run.run_after < %(until)s", until=wanted.until)
    if wanted.ended_since is not None:
        conditions.add("run.ended_at >= %(ended_since)s", ended_since=wanted.ended_since)
    return fetch_page(
        connection,
        select=_SELECT,
        source=SOURCE,
        conditions=conditions,
        sorts=_SORTS,
        default=("-run_after",),
        unique=("id",),
        request=page,
    )


def get_run(connection: Connection, dag_id: str, run_id: str) -> dict[str, Any]:
    """Return one run.

    Raises:
        NotFoundError: there is no such DAG or run.
    """
    return one_run(connection, _SELECT, dag_id, run_id)


def neighbours(connection: Connection, run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the runs before and after ``run`` (a row of this module) and how many instances are in which state."""
    parameters = {name: run[name] for name in ("dag_id", "run_after", "id", "month")}
    return dict(rows(connection, _NEIGHBOURS, parameters)[0])


def runs_by_id(connection: Connection, ids: Sequence[int]) -> Sequence[Mapping[str, Any]]:
    """Return id, DAG, run id and state of runs: what the live stream tells of them."""
    sql = "SELECT id, dag_id, run_id, state FROM dag_run WHERE id = ANY(%(ids)s) ORDER BY id"
    return rows(connection, sql, {"ids": list(ids)})
