"""Events that wait for consumers: what waits, and letting it be forgotten; and the events that a run was made of."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import AwareDatetime

from treadle_metadata import audit
from treadle_metadata.assets.by_hand import forget_queued
from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries import assets as queries
from treadle_metadata.queries.dags import get_dag
from treadle_metadata.queries.paging import PageRequest
from treadle_metadata.queries.runs import get_run
from treadle_webserver.authorize import Actor, ActorOf
from treadle_webserver.parameters import LARGEST_PAGE, DagId, RowId, RunId, cursors
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.assets import (
    AssetEventListShape,
    QueuedEventListShape,
    QueuedEventShape,
    event_shape,
    queued_shape,
)

router = APIRouter(prefix="/api/v2", tags=["Asset"], route_class=RetriedRoute)

Before = Annotated[AwareDatetime | None, Query()]


@router.get("/assets/{asset_id}/queuedEvents")
def get_asset_queued_events(asset_id: RowId, service: ServiceOf, before: Before = None) -> QueuedEventListShape:
    """Tell which DAGs have events of this asset waiting."""
    with service.database.begin() as connection:
        queries.get_asset(connection, asset_id)
        found = queries.queued_events(connection, asset_id=asset_id, before=before)
    return {"queued_events": [queued_shape(row) for row in found], "total_entries": len(found)}


@router.delete("/assets/{asset_id}/queuedEvents", status_code=204, response_class=Response)
def delete_asset_queued_events(asset_id: RowId, actor: ActorOf, service: ServiceOf, before: Before = None) -> None:
    """Forget this asset's events that wait, for all its consumers."""
    _forget(service, actor, asset_id=asset_id, before=before)


@router.get("/dags/{dag_id}/assets/queuedEvents")
def get_dag_asset_queued_events(dag_id: DagId, service: ServiceOf, before: Before = None) -> QueuedEventListShape:
    """Tell which assets have events waiting for this DAG."""
    with service.database.begin() as connection:
        get_dag(connection, dag_id)
        found = queries.queued_events(connection, dag_id=dag_id, before=before)
    return {"queued_events": [queued_shape(row) for row in found], "total_entries": len(found)}


@router.delete("/dags/{dag_id}/assets/queuedEvents", status_code=204, response_class=Response)
def delete_dag_asset_queued_events(dag_id: DagId, actor: ActorOf, service: ServiceOf, before: Before = None) -> None:
    """Forget all events that wait for this DAG."""
    _forget(service, actor, dag_id=dag_id, before=before)


@router.get("/dags/{dag_id}/assets/{asset_id}/queuedEvents")
def get_dag_asset_queued_event(
    dag_id: DagId, asset_id: RowId, service: ServiceOf, before: Before = None
) -> QueuedEventShape:
    """Tell since when events of this asset wait for this DAG; 404 if none does."""
    with service.database.begin() as connection:
        found = queries.queued_events(connection, dag_id=dag_id, asset_id=asset_id, before=before)
        if not found:
            raise NotFoundError(f"queued event of DAG {dag_id!r} for asset", str(asset_id))
    return queued_shape(found[0])


@router.delete("/dags/{dag_id}/assets/{asset_id}/queuedEvents", status_code=204, response_class=Response)
def delete_dag_asset_queued_event(
    dag_id: DagId, asset_id: RowId, actor: ActorOf, service: ServiceOf, before: Before = None
) -> None:
    """Forget the events of this asset that wait for this DAG."""
    _forget(service, actor, dag_id=dag_id, asset_id=asset_id, before=before)


@router.get("/dags/{dag_id}/dagRuns/{dag_run_id}/upstreamAssetEvents")
def get_upstream_asset_events(dag_id: DagId, dag_run_id: RunId, service: ServiceOf) -> AssetEventListShape:
    """Return the events that a run was made of, the newest first (1,000 at most)."""
    with service.database.begin() as connection:
        run = get_run(connection, dag_id, dag_run_id)
        wanted = queries.EventFilter(dag_run_id=run["id"])
        page = queries.list_events(connection, wanted, PageRequest(limit=LARGEST_PAGE))
    return {"asset_events": [event_shape(row) for row in page.rows], **cursors(page)}


def _forget(
    service: Service,
    actor: Actor,
    *,
    dag_id: str | None = None,
    asset_id: int | None = None,
    before: datetime | None = None,
) -> None:
    with service.database.begin() as connection:
        if dag_id is not None:
            get_dag(connection, dag_id)
        if asset_id is not None:
            queries.get_asset(connection, asset_id)
        forgotten = forget_queued(connection, dag_id=dag_id, asset_id=asset_id, before=before)
        audit.record(
            connection,
            actor=actor.username,
            event="delete_queued_asset_events",
            dag_id=dag_id,
            detail={"asset_id": asset_id, "forgotten": forgotten},
            now=service.now(),
        )
