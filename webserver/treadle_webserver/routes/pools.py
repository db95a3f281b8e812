"""Pools: list, one, create, change, delete, and many of these at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy import Connection

from treadle_metadata import audit
from treadle_metadata.queries import pools as queries
from treadle_metadata.resources import create_pool, delete_pool, set_pool
from treadle_metadata.resources.locking import lock_row
from treadle_webserver.authorize import Actor, ActorOf
from treadle_webserver.bulk import Acts, BulkBody, BulkShape, Mask, carry_out
from treadle_webserver.etags import IfMatch, require_match, tag
from treadle_webserver.parameters import Name, PageQuery, StrictBody, Text, totals
from treadle_webserver.permissions import Permission
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.resources import PoolListShape, PoolShape, pool_shape

router = APIRouter(prefix="/api/v2/pools", tags=["Pool"], route_class=RetriedRoute)

Slots = Annotated[int, Field(ge=-1, le=2**31 - 1)]
UpdateMask = Annotated[list[Literal["slots", "description", "include_deferred"]] | None, Query(max_length=3)]


class PoolQuery(PageQuery):
    """Which pools."""

    pool_name_pattern: Text = None
    pool_name_prefix_pattern: Text = None


class PoolBody(StrictBody):
    """A pool to make; ``slots`` -1 means without limit."""

    name: str = Field(max_length=1000)
    slots: Slots
    description: str | None = None
    include_deferred: bool = False
    team_name: Text = None


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
        page = queries.list_pools(
            connection, query.page, pattern=query.pool_name_pattern, prefix=query.pool_name_prefix_pattern
        )
    return {"pools": [pool_shape(row) for row in page.rows], **totals(page)}


@router.post("", status_code=201)
def post_pool(body: PoolBody, actor: ActorOf, service: ServiceOf, response: Response) -> PoolShape:
    """Create a pool."""
    with service.database.begin() as connection:
        _Editor(service, actor).create(connection, body)
        return _tagged(response, queries.get_pool(connection, body.name))


@router.patch("")
def bulk_pools(body: BulkBody[PoolBody], actor: ActorOf, service: ServiceOf) -> BulkShape:
    """Create, change and delete pools, each on its own; the answer tells of each."""
    editor = _Editor(service, actor)
    acts: Acts[PoolBody] = Acts(
        key=lambda one: one.name, create=editor.create, update=editor.update, delete=editor.delete
    )
    with service.database.begin() as connection:
        return carry_out(connection, body, acts)


@router.get("/{pool_name:path}")
def get_pool(pool_name: Name, service: ServiceOf, response: Response) -> PoolShape:
    """Return one pool with its use."""
    with service.database.begin() as connection:
        return _tagged(response, queries.get_pool(connection, pool_name))


@router.patch("/{pool_name:path}")
def patch_pool(
    pool_name: Name,
    body: PoolPatch,
    actor: ActorOf,
    service: ServiceOf,
    response: Response,
    update_mask: UpdateMask = None,
    if_match: IfMatch = None,
) -> PoolShape:
    """Change a pool; its name stays."""
    given = body.model_dump(exclude_unset=True, exclude_none=True, exclude={"name", "pool"})
    with service.database.begin() as connection:
        _Editor(service, actor).change(connection, pool_name, given, update_mask, if_match)
        return _tagged(response, queries.get_pool(connection, pool_name))


@router.delete("/{pool_name:path}", status_code=204, response_class=Response, name="delete_pool")
def delete_one_pool(pool_name: Name, actor: ActorOf, service: ServiceOf) -> None:
    """Delete a pool that nothing uses."""
    with service.database.begin() as connection:
        _Editor(service, actor).delete(connection, pool_name)


@dataclass(frozen=True, slots=True)
class _Editor:
    """Edits pools for somebody, and records it."""

    service: Service
    actor: Actor

    def create(self, connection: Connection, body: PoolBody) -> None:
        """Create a pool."""
        team = self.actor.team(connection, Permission.EDIT_POOLS, body.team_name)
        create_pool(
            connection,
            body.name,
            body.slots,
            body.description or "",
            include_deferred=body.include_deferred,
            team=team,
        )
        self._record(
            connection, "create_pool", body.name, None, body.model_dump(exclude={"name"}) | {"team_name": team}
        )

    def update(self, connection: Connection, body: PoolBody, mask: Mask) -> None:
        """Change a pool to what a whole body says."""
        self.change(connection, body.name, body.model_dump(exclude_unset=True, exclude={"name", "team_name"}), mask)

    def change(
        self,
        connection: Connection,
        name: str,
        given: Mapping[str, Any],
        mask: Collection[str] | None,
        if_match: str | None = None,
    ) -> None:
        """Change what is given of a pool, and in the mask."""
        lock_row(connection, "slot_pool", name)
        stored = queries.get_pool(connection, name)
        require_match(if_match, "pool", name, *_facts(stored))
        wanted = {key: value for key, value in given.items() if mask is None or key in mask}
        pool = stored | wanted
        set_pool(connection, name, pool["slots"], pool["description"] or "", include_deferred=pool["include_deferred"])
        self._record(connection, "patch_pool", name, {key: stored[key] for key in wanted}, wanted)

    def delete(self, connection: Connection, one: str | PoolBody) -> None:
        """Delete a pool that nothing uses."""
        name = one if isinstance(one, str) else one.name
        stored = queries.get_pool(connection, name)
        delete_pool(connection, name)
        before = {key: stored[key] for key in ("slots", "description", "include_deferred")}
        self._record(connection, "delete_pool", name, before, None)

    def _record(
        self,
        connection: Connection,
        event: str,
        name: str,
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any] | None,
    ) -> None:
        audit.record(
            connection,
            actor=self.actor.username,
            event=event,
            subject=name,
            before=before,
            after=after,
            now=self.service.now(),
        )


def _facts(row: Mapping[str, Any]) -> tuple[object, ...]:
    return row["name"], row["slots"], row["description"], row["include_deferred"]


def _tagged(response: Response, row: Mapping[str, Any]) -> PoolShape:
    tag(response, *_facts(row))
    return pool_shape(row)
