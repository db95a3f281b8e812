"""The list of DAGs with their last runs, its counts and labels, and the head of one DAG's page."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from treadle_metadata.queries.ui import dag_list as queries
from treadle_metadata.queries.ui.structures import Structure
from treadle_webserver.authorize import ActorOf, may_with_dag
from treadle_webserver.parameters import DagId, RunStateName, Text, Texts
from treadle_webserver.permissions import Permission
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.ui.walking import WalkQuery
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.dags import param_shape
from treadle_webserver.shapes.ui.overview import DagCountsShape, DagHeadShape, DagRowsShape, dag_row_shape

router = APIRouter(prefix="/ui/dags", tags=["UI"], route_class=RetriedRoute)

_RECENT = 14
_PERIODIC = frozenset({"cron", "delta"})


class DagSearchQuery(WalkQuery):
    """Which DAGs. ``search`` is a part of the id, name or description; ``order_by`` may begin with ``-``."""

    search: Text = None
    tags: Texts = []
    owners: Texts = []
    paused: bool | None = None
    active: bool = True
    broken: bool | None = None
    running: bool | None = None
    last_run_state: RunStateName | None = None
    favorites: bool = False
    order_by: Literal["dag_id", "-dag_id", "name", "-name", "next_run_at", "-next_run_at"] = "dag_id"
    recent_runs: int = Field(_RECENT, ge=0, le=50)

    @property
    def wanted(self) -> queries.DagSearch:
        """The filter."""
        return queries.DagSearch(
            text=self.search,
            tags=self.tags,
            owners=self.owners,
            paused=self.paused,
            active=self.active,
            broken=self.broken,
            running=self.running,
            last_state=self.last_run_state,
            favorites=self.favorites,
        )


@router.get("")
def get_ui_dags(query: Annotated[DagSearchQuery, Query()], actor: ActorOf, service: ServiceOf) -> DagRowsShape:
    """Return a page of DAGs, each with its newest runs."""
    with service.database.begin() as connection:
        page, recent = queries.list_dags(
            connection, query.wanted, query.page(query.order_by), username=actor.username, recent=query.recent_runs
        )
    return {
        "dags": [dag_row_shape(row, recent[row["dag_id"]]) for row in page.rows],
        "total": page.total,
        "next_cursor": page.next_cursor,
    }


@router.get("/counts")
def get_ui_dag_counts(actor: ActorOf, service: ServiceOf) -> DagCountsShape:
    """Return how many DAGs each tab of the list has, and all tags and owners."""
    with service.database.begin() as connection:
        counts = queries.count_dags(connection, username=actor.username)
        tags, owners = queries.labels(connection)
    return {
        "all": counts["all_dags"],
        "unpaused": counts["unpaused"],
        "paused": counts["paused"],
        "broken": counts["broken"],
        "running": counts["running"],
        "favorites": counts["favorites"],
        "tags": tags,
        "owners": owners,
    }


@router.get("/{dag_id}")
def get_ui_dag(
    dag_id: DagId, actor: ActorOf, service: ServiceOf, recent_runs: Annotated[int, Query(ge=0, le=50)] = _RECENT
) -> DagHeadShape:
    """Return the head of a DAG's page: its state, schedule, params and newest runs."""
    with service.database.begin() as connection:
        row = queries.get_overview(connection, dag_id, username=actor.username)
        recent = queries.recent_runs(connection, [dag_id], recent_runs)[dag_id]
        # What is wrong with a file is a part of its code.
        reads_code = may_with_dag(connection, actor.rights, Permission.READ_CODE, dag_id)
        structure = None
        if row["version_id"] is not None:
            structure = service.structures.get(connection, row["version_id"])
    document = None if structure is None else structure.document
    params = {} if document is None else {one.name: param_shape(one) for one in document.params}
    return {
        **dag_row_shape(row, recent),
        "version_number": row["version_number"],
        "timezone": "UTC" if document is None else document.timezone,
        "doc_md": None if document is None else document.doc_md,
        "queued_runs": row["queued_runs"],
        "running_runs": row["running_runs"],
        "max_active_runs": row["max_active_runs"] or service.settings.max_active_runs_per_dag,
        "import_error": row["import_error"] if reads_code else None,
        "warnings": row["warnings"] or [],
        "params": params,
        "has_params": bool(params),
        "is_backfillable": _is_periodic(structure),
    }


def _is_periodic(structure: Structure | None) -> bool:
    if structure is None:
        return False
    schedule = structure.document.schedule
    return schedule.kind in _PERIODIC or (schedule.kind == "custom" and schedule.periodic)
