"""Assets: list, one, events, an event from outside, aliases, and a run that makes an asset afresh."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from treadle.assets import LONGEST_PARTITION_KEY
from treadle_metadata import audit
from treadle_metadata.assets.by_hand import emit_by_hand, materialize
from treadle_metadata.queries import assets as queries
from treadle_metadata.queries.conditions import Between
from treadle_metadata.queries.runs import with_names
from treadle_webserver.authorize import ActorOf
from treadle_webserver.parameters import (
    CursorQuery,
    MapIndexQuery,
    Moment,
    PageQuery,
    RowId,
    StrictBody,
    Text,
    Texts,
    cursors,
    totals,
)
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.dag_runs import TriggerBody
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.assets import (
    AliasListShape,
    AliasShape,
    AssetEventListShape,
    AssetEventShape,
    AssetListShape,
    AssetShape,
    alias_shape,
    asset_shape,
    event_shape,
)
from treadle_webserver.shapes.runs import RunShape, run_shape

router = APIRouter(prefix="/api/v2/assets", tags=["Asset"], route_class=RetriedRoute)


class AssetQuery(PageQuery):
    """Which assets; ``only_active`` leaves out those that only DAGs name which are gone."""

    name_pattern: Text = None
    name_prefix_pattern: Text = None
    uri_pattern: Text = None
    uri_prefix_pattern: Text = None
    dag_ids: Texts = []
    only_active: bool = True


class AliasQuery(PageQuery):
    """Which aliases."""

    name_pattern: Text = None
    name_prefix_pattern: Text = None


class EventQuery(CursorQuery):
    """Which events."""

    asset_id: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    source_dag_id: Text = None
    source_task_id: Text = None
    source_run_id: Text = None
    source_map_index: MapIndexQuery | None = None
    name_pattern: Text = None
    name_prefix_pattern: Text = None
    timestamp_gte: Moment = None
    timestamp_gt: Moment = None
    timestamp_lte: Moment = None
    timestamp_lt: Moment = None


class EventBody(StrictBody):
    """An update to tell of."""

    asset_id: int = Field(ge=0, le=2**63 - 1)
    extra: dict[str, Any] = {}
    partition_key: str | None = Field(None, max_length=LONGEST_PARTITION_KEY)


@router.get("")
def get_assets(query: Annotated[AssetQuery, Query()], service: ServiceOf) -> AssetListShape:
    """List assets."""
    wanted = queries.AssetFilter(
        name_pattern=query.name_pattern,
        name_prefix=query.name_prefix_pattern,
        uri_pattern=query.uri_pattern,
        uri_prefix=query.uri_prefix_pattern,
        dag_ids=query.dag_ids,
        active=query.only_active,
    )
    with service.database.begin() as connection:
        page = queries.list_assets(connection, wanted, query.page)
    return {"assets": [asset_shape(row) for row in page.rows], **totals(page)}


@router.get("/aliases")
def get_asset_aliases(query: Annotated[AliasQuery, Query()], service: ServiceOf) -> AliasListShape:
    """List aliases."""
    with service.database.begin() as connection:
        page = queries.list_aliases(
            connection, query.page, pattern=query.name_pattern, prefix=query.name_prefix_pattern
        )
    return {"asset_aliases": [alias_shape(row) for row in page.rows], **totals(page)}


@router.get("/aliases/{asset_alias_id}")
def get_asset_alias(asset_alias_id: RowId, service: ServiceOf) -> AliasShape:
    """Return one alias."""
    with service.database.begin() as connection:
        return alias_shape(queries.get_alias(connection, asset_alias_id))


@router.get("/events")
def get_asset_events(query: Annotated[EventQuery, Query()], service: ServiceOf) -> AssetEventListShape:
    """List events, by default the newest first."""
    limits = {suffix: getattr(query, f"timestamp_{suffix}") for suffix in ("gte", "gt", "lte", "lt")}
    wanted = queries.EventFilter(
        asset_id=query.asset_id,
        source_dag_id=query.source_dag_id,
        source_task_id=query.source_task_id,
        source_run_id=query.source_run_id,
        source_map_index=query.source_map_index,
        name_pattern=query.name_pattern,
        name_prefix=query.name_prefix_pattern,
        happened=Between(**limits),
    )
    with service.database.begin() as connection:
        page = queries.list_events(connection, wanted, query.page)
    return {"asset_events": [event_shape(row) for row in page.rows], **cursors(page)}


@router.post("/events")
def create_asset_event(body: EventBody, actor: ActorOf, service: ServiceOf) -> AssetEventShape:
    """Tell of an update of an asset: DAGs that wait for it get their runs. ``from_rest_api`` is put into its extra."""
    now = service.now()
    with service.database.begin() as connection:
        name = queries.get_asset(connection, body.asset_id)["name"]
    # An asset is what DAGs share: whoever waits for it gets its run, also where the account sees nothing of that.
    with service.whole_database.begin() as connection:
        extra = {**body.extra, "from_rest_api": True}
        event_id = emit_by_hand(connection, name, extra=extra, partition_key=body.partition_key, now=now)
        detail = {"asset": name, "event_id": event_id, "partition_key": body.partition_key}
        audit.record(connection, actor=actor.username, event="create_asset_event", detail=detail, now=now)
    with service.database.begin() as connection:
        return event_shape(queries.get_event(connection, event_id))


@router.get("/{asset_id}")
def get_asset(asset_id: RowId, service: ServiceOf) -> AssetShape:
    """Return one asset."""
    with service.database.begin() as connection:
        return asset_shape(queries.get_asset(connection, asset_id))


@router.post("/{asset_id}/materialize")
def materialize_asset(asset_id: RowId, actor: ActorOf, service: ServiceOf, body: TriggerBody | None = None) -> RunShape:
    """Make a run of the one DAG that updates this asset."""
    arguments = (body or TriggerBody.model_validate({})).arguments(service, actor)
    with service.database.begin() as connection:
        asset = queries.get_asset(connection, asset_id)
        made = materialize(connection, asset, **arguments)
        audit.record(
            connection,
            actor=actor.username,
            event="materialize_asset",
            dag_id=made["dag_id"],
            run_id=made["run_id"],
            detail={"asset": asset["name"]},
            now=arguments["now"],
        )
        return run_shape(with_names(connection, made))
