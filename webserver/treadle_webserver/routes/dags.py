"""DAGs: list, one, details, pausing one or many, tags, statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy import Connection

from treadle.document import loads
from treadle_metadata import audit
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.favorites import set_favorite
from treadle_metadata.pausing import set_paused
from treadle_metadata.queries import dags as queries
from treadle_metadata.queries.conditions import Between
from treadle_metadata.queries.paging import Page
from treadle_metadata.queries.versions import get_version
from treadle_metadata.resources.locking import lock_row
from treadle_webserver.authorize import Actor, ActorOf
from treadle_webserver.etags import IfMatch, require_match, tag
from treadle_webserver.parameters import (
    DagId,
    EndOfDay,
    Moment,
    PageQuery,
    RunStateName,
    StrictBody,
    Text,
    Texts,
    totals,
)
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.dags import (
    DagDetailsShape,
    DagListShape,
    DagShape,
    DagStatsListShape,
    TagListShape,
    dag_shape,
    details_shape,
    stats_shapes,
)
from treadle_webserver.shapes.times import BUNDLE

router = APIRouter(prefix="/api/v2", tags=["DAG"], route_class=RetriedRoute)


class DagQuery(PageQuery):
    """Which DAGs. By default those whose file is gone are left out."""

    tags: Texts = []
    tags_match_mode: Literal["any", "all"] = "any"
    owners: Texts = []
    dag_id_pattern: Text = None
    dag_id_prefix_pattern: Text = None
    dag_display_name_pattern: Text = None
    dag_display_name_prefix_pattern: Text = None
    exclude_stale: bool = True
    paused: bool | None = None
    has_import_errors: bool | None = None
    last_dag_run_state: RunStateName | None = None
    dag_run_state: Annotated[list[RunStateName], Field(max_length=10)] = []
    dag_run_start_date_gte: Moment = None
    dag_run_start_date_gt: EndOfDay = None
    dag_run_start_date_lte: EndOfDay = None
    dag_run_start_date_lt: Moment = None
    dag_run_end_date_gte: Moment = None
    dag_run_end_date_gt: EndOfDay = None
    dag_run_end_date_lte: EndOfDay = None
    dag_run_end_date_lt: Moment = None
    timetable_type: Texts = []
    bundle_name: Text = None
    is_favorite: bool | None = None
    has_asset_schedule: bool | None = None
    asset_dependency: Text = None

    def wanted(self, actor: Actor) -> queries.DagFilter:
        """Return the filter, for whoever asks."""
        return queries.DagFilter(
            tags=self.tags,
            tags_match=self.tags_match_mode,
            owners=self.owners,
            paused=self.paused,
            active=True if self.exclude_stale else None,
            has_import_errors=self.has_import_errors,
            dag_id_pattern=self.dag_id_pattern,
            dag_id_prefix=self.dag_id_prefix_pattern,
            display_name_pattern=self.dag_display_name_pattern,
            display_name_prefix=self.dag_display_name_prefix_pattern,
            last_run_state=self.last_dag_run_state,
            run_states=self.dag_run_state,
            run_started=self._between("dag_run_start_date"),
            run_ended=self._between("dag_run_end_date"),
            schedule_kinds=self.timetable_type,
            favorite=self.is_favorite,
            username=actor.username,
            none=self.bundle_name not in {None, BUNDLE},
            has_asset_schedule=self.has_asset_schedule,
            asset_pattern=self.asset_dependency,
        )

    def _between(self, name: str) -> Between:
        return Between(**{suffix: getattr(self, f"{name}_{suffix}") for suffix in ("gte", "gt", "lte", "lt")})


class DagsPatchQuery(DagQuery):
    """Which DAGs a patch of many is for."""

    update_mask: Annotated[list[Literal["is_paused"]], Field(max_length=1)] = ["is_paused"]


class DagPatch(StrictBody):
    """What can be changed of a DAG."""

    is_paused: bool


UpdateMask = Annotated[list[Literal["is_paused"]] | None, Query(max_length=1)]


@router.get("/dags")
def get_dags(query: Annotated[DagQuery, Query()], actor: ActorOf, service: ServiceOf) -> DagListShape:
    """List DAGs."""
    page = service.database.run_each(lambda connection: queries.list_dags(connection, query.wanted(actor), query.page))
    return _list_shape(page, service)


@router.patch("/dags")
def patch_dags(
    query: Annotated[DagsPatchQuery, Query()], body: DagPatch, actor: ActorOf, service: ServiceOf
) -> DagListShape:
    """Pause or unpause all DAGs that match (``dag_id_pattern`` must be given; ``~`` means every DAG)."""
    if not query.dag_id_pattern and not query.dag_id_prefix_pattern and not query.tags and not query.owners:
        raise InvalidRequestError(
            "which DAGs? Expected dag_id_pattern ('~' for all), dag_id_prefix_pattern, tags or owners"
        )
    with service.database.begin() as connection:
        wanted = query.wanted(actor)
        ids = queries.matching_ids(connection, wanted)
        page = queries.list_dags(connection, wanted, query.page)
        _pause(connection, ids, body.is_paused, actor, service)
        for row in page.rows:
            row["is_paused"] = body.is_paused
        return _list_shape(page, service)


@router.get("/dags/{dag_id}")
def get_dag(dag_id: DagId, service: ServiceOf, response: Response) -> DagShape:
    """Return one DAG."""
    with service.database.begin() as connection:
        dag = queries.get_dag(connection, dag_id)
    tag(response, *_facts(dag))
    return dag_shape(dag, service.settings)


@router.patch("/dags/{dag_id}")
def patch_dag(
    dag_id: DagId,
    body: DagPatch,
    actor: ActorOf,
    service: ServiceOf,
    response: Response,
    update_mask: UpdateMask = None,
    if_match: IfMatch = None,
) -> DagShape:
    """Pause or unpause a DAG."""
    with service.database.begin() as connection:
        if if_match is not None:
            lock_row(connection, "dag", dag_id)
        dag = queries.get_dag(connection, dag_id)
        require_match(if_match, "DAG", dag_id, *_facts(dag))
        if update_mask != []:
            _pause(connection, [dag_id], body.is_paused, actor, service)
            dag["is_paused"] = body.is_paused
    tag(response, *_facts(dag))
    return dag_shape(dag, service.settings)


@router.post("/dags/{dag_id}/favorite", status_code=204, response_class=Response)
def favorite_dag(dag_id: DagId, actor: ActorOf, service: ServiceOf) -> None:
    """Mark a DAG as a favourite of yours."""
    _mark(dag_id, actor, service, on=True)


@router.post("/dags/{dag_id}/unfavorite", status_code=204, response_class=Response)
def unfavorite_dag(dag_id: DagId, actor: ActorOf, service: ServiceOf) -> None:
    """Take a DAG from your favourites."""
    _mark(dag_id, actor, service, on=False)


def _mark(dag_id: str, actor: Actor, service: Service, *, on: bool) -> None:
    with service.database.begin() as connection:
        queries.check_dag(connection, dag_id)
        set_favorite(connection, actor.username, dag_id, on=on, now=service.now())


@router.get("/dags/{dag_id}/details")
def get_dag_details(dag_id: DagId, service: ServiceOf) -> DagDetailsShape:
    """Return one DAG with what its document says."""
    with service.database.begin() as connection:
        dag = queries.get_dag(connection, dag_id)
        version = get_version(connection, dag_id)
        active = queries.active_run_count(connection, dag_id)
    return details_shape(dag, version, loads(version["document"]), active_runs=active, settings=service.settings)


class TagQuery(PageQuery):
    """Which tags."""

    tag_name_pattern: Text = None
    tag_name_prefix_pattern: Text = None


@router.get("/dagTags")
def get_dag_tags(query: Annotated[TagQuery, Query()], service: ServiceOf) -> TagListShape:
    """List the tags of all DAGs."""
    with service.database.begin() as connection:
        tags = queries.list_tags(connection, pattern=query.tag_name_pattern, prefix=query.tag_name_prefix_pattern)
    if query.order_by == ["-name"]:
        tags.reverse()
    end = query.page.offset + query.page.limit
    return {"tags": tags[query.page.offset : end], "total_entries": len(tags)}


class StatsQuery(PageQuery):
    """Whose runs are counted; of all DAGs when none is named."""

    dag_ids: Texts = []


@router.get("/dagStats")
def get_dag_stats(query: Annotated[StatsQuery, Query()], service: ServiceOf) -> DagStatsListShape:
    """Count the runs of DAGs by state."""
    with service.database.begin() as connection:
        ids = query.dag_ids or queries.matching_ids(connection, queries.DagFilter())
        shapes = stats_shapes(queries.run_counts(connection, ids))
    return {"dags": shapes, "total_entries": len(shapes)}


def _facts(row: Mapping[str, Any]) -> tuple[object, ...]:
    return row["dag_id"], row["is_paused"], row["version_id"]


def _list_shape(page: Page, service: Service) -> DagListShape:
    return {"dags": [dag_shape(row, service.settings) for row in page.rows], **totals(page)}


def _pause(connection: Connection, ids: list[str], paused: bool, actor: Actor, service: Service) -> None:
    now = service.now()
    for dag_id in set_paused(connection, ids, paused, now=now):
        event = "pause_dag" if paused else "unpause_dag"
        audit.record(connection, actor=actor.username, event=event, dag_id=dag_id, now=now)
