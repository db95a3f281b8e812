"""Pools: list, one, create, change, delete."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from treadle_metadata import audit
from treadle_metadata.queries import pools as queries
from treadle_metadata.resources import create_pool, delete_pool, set_pool
from treadle_webserver.authorize import ActorOf
from treadle_webserver.parameters import Name, PageQuery, StrictBody, Text, totals
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.resources import PoolListShape, PoolShape, pool_shape

router = APIRouter(prefix="/api/v2/pools", tags=["Pool"], route_class=RetriedRoute)

Slots = Annotated[int, Field(ge=-1, le=2**31 - 1)]
Field_ = Literal["slots", "description", "include_deferred"]
UpdateMask = Annotated[list[Field_] | None, Query(max_length=3)]


class PoolQuery(PageQuery):
    """Which pools."""

    pool_name_pattern: Text = None


class PoolBody(StrictBody):
    """A pool to make; ``slots`` -1 means without limit."""

    name: str = Field(max_length=1000)
    slots: Slots
    description: str | None = None
    include_deferred: bool = False


class PoolPatch(StrictBody):
    """What can be changed of a pool; what is not given stays."""

    name: str | None = None
    pool: str | None = None
    slots: Slots | None = None
    description: str | None = None
    include_deferred: bool | None = None


@router.get("")
def get_pools(query: Annotated[PoolQuery, Query()], service: ServiceOf) -> PoolListShape:
    """List pools with their use."""
    with service.database.begin() as connection:
        page = queries.list_pools(connection, query.page, pattern=query.pool_name_pattern)
    return {"pools": [pool_shape(row) for row in page.rows], **totals(page)}


@router.post("", status_code=201)
def post_pool(body: PoolBody, actor: ActorOf, service: ServiceOf) -> PoolShape:
    """Create a pool."""
    with service.database.begin() as connection:
        create_pool(connection, body.name, body.slots, body.description or "", include_deferred=body.include_deferred)
        audit.record(connection, actor=actor.username, event="create_pool", detail=body.model_dump(), now=service.now())
        return pool_shape(queries.get_pool(connection, body.name))


@router.get("/{pool_name:path}")
def get_pool(pool_name: Name, service: ServiceOf) -> PoolShape:
    """Return one pool with its use."""
    with service.database.begin() as connection:
        return pool_shape(queries.get_pool(connection, pool_name))


@router.patch("/{pool_name:path}")
def patch_pool(
    pool_name: Name, body: PoolPatch, actor: ActorOf, service: ServiceOf, update_mask: UpdateMask = None
) -> PoolShape:
    """Change a pool; its name stays."""
    given = body.model_dump(exclude_unset=True, exclude_none=True, exclude={"name", "pool"})
    if update_mask is not None:
        given = {name: value for name, value in given.items() if name in update_mask}
    with service.database.begin() as connection:
        pool = queries.get_pool(connection, pool_name) | given
        set_pool(connection, pool_name, pool["slots"], pool["description"], include_deferred=pool["include_deferred"])
        audit.record(
            connection,
            actor=actor.username,
            event="patch_pool",
            detail={"name": pool_name} | given,
            now=service.now(),
        )
        return pool_shape(queries.get_pool(connection, pool_name))


@router.delete("/{pool_name:path}", status_code=204, response_class=Response)
def delete_one_pool(pool_name: Name, actor: ActorOf, service: ServiceOf) -> None:
    """Delete a pool that nothing uses."""
    with service.database.begin() as connection:
        delete_pool(connection, pool_name)
        audit.record(
            connection, actor=actor.username, event="delete_pool", detail={"name": pool_name}, now=service.now()
        )
