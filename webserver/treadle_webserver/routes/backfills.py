"""Backfills: list, one, make, preview, pause, let go on, cancel."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, BeforeValidator, Field
from sqlalchemy import Connection
from typing_extensions import TypedDict

from treadle_metadata import audit, backfills
from treadle_metadata.queries import backfills as queries
from treadle_webserver.authorize import Actor, ActorOf
from treadle_webserver.parameters import PageQuery, RowId, StrictBody, Text, end_of_day, start_of_day, totals
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.operations import BackfillProgressShape, progress_shape
from treadle_webserver.shapes.resources import BackfillListShape, BackfillShape, backfill_shape
from treadle_webserver.shapes.times import utc

router = APIRouter(prefix="/api", tags=["Backfill"], route_class=RetriedRoute)

# The specification's example (section 12) gives bare dates, both included.
FirstDate = Annotated[AwareDatetime, BeforeValidator(start_of_day)]
LastDate = Annotated[AwareDatetime, BeforeValidator(end_of_day)]


class BackfillQuery(PageQuery):
    """Which backfills."""

    dag_id: Text = None
    active: bool | None = None


class BackfillBody(StrictBody):
    """A backfill to make."""

    dag_id: str = Field(max_length=250)
    from_date: FirstDate
    to_date: LastDate
    run_backwards: bool = False
    dag_run_conf: dict[str, Any] | None = None
    reprocess_behavior: Literal["none", "failed", "completed"] = "none"
    max_active_runs: int = Field(10, ge=1, le=10_000)
    run_on_latest_version: bool | None = None


class PlannedShape(TypedDict):
    """One date of a backfill and what is to be done about it. ``action`` and ``reason`` are Treadle's own."""

    logical_date: datetime | None
    action: str
    reason: str


class PreviewShape(TypedDict):
    """Every date that a backfill would cover."""

    backfills: list[PlannedShape]
    total_entries: int


@router.get("/v2/backfills")
def list_backfills(query: Annotated[BackfillQuery, Query()], service: ServiceOf) -> BackfillListShape:
    """List backfills, the newest first."""
    with service.database.begin() as connection:
        page = queries.list_backfills(connection, query.page, dag_id=query.dag_id, active=query.active)
    return {"backfills": [backfill_shape(row) for row in page.rows], **totals(page)}


@router.post("/v2/backfills")
@router.post("/v1/backfills", name="create_backfill_v1")
def create_backfill(body: BackfillBody, actor: ActorOf, service: ServiceOf) -> BackfillShape:
    """Make a backfill."""
    with service.database.begin() as connection:
        made = _create(connection, service, actor, body, dry_run=False)
        if made.id is None:
            raise AssertionError("a backfill that is no preview has an id")
        audit.record(
            connection,
            actor=actor.username,
            event="create_backfill",
            dag_id=body.dag_id,
            detail=body.model_dump(mode="json", exclude={"dag_id"}) | {"backfill": made.id},
            now=service.now(),
        )
        return backfill_shape(queries.get_backfill(connection, made.id))


@router.post("/v2/backfills/dry_run")
def create_backfill_dry_run(body: BackfillBody, actor: ActorOf, service: ServiceOf) -> PreviewShape:
    """Show what a backfill would do, date by date, without doing it."""
    with service.database.begin() as connection:
        planned = _create(connection, service, actor, body, dry_run=True).planned
    shapes: list[PlannedShape] = [
        {"logical_date": utc(one.logical_date), "action": one.action, "reason": one.reason} for one in planned
    ]
    return {"backfills": shapes, "total_entries": len(shapes)}


@router.get("/v2/backfills/{backfill_id}")
def get_backfill(backfill_id: RowId, service: ServiceOf) -> BackfillShape:
    """Return one backfill."""
    with service.database.begin() as connection:
        return backfill_shape(queries.get_backfill(connection, backfill_id))


@router.get("/v2/backfills/{backfill_id}/progress")
def get_backfill_progress(backfill_id: RowId, service: ServiceOf) -> BackfillProgressShape:
    """Return how far a backfill is, how long it may still take, and the run of each of its dates."""
    with service.database.begin() as connection:
        far = queries.progress(connection, backfill_id, now=service.now())
        dates = queries.dates(connection, backfill_id)
    return progress_shape(far, dates)


@router.put("/v2/backfills/{backfill_id}/pause")
def pause_backfill(backfill_id: RowId, actor: ActorOf, service: ServiceOf) -> BackfillShape:
    """Start no further run of a backfill."""
    return _change(
        service, actor, backfill_id, "pause_backfill", lambda one: backfills.set_paused(one, backfill_id, True)
    )


@router.put("/v2/backfills/{backfill_id}/unpause")
def unpause_backfill(backfill_id: RowId, actor: ActorOf, service: ServiceOf) -> BackfillShape:
    """Let a paused backfill go on."""
    return _change(
        service, actor, backfill_id, "unpause_backfill", lambda one: backfills.set_paused(one, backfill_id, False)
    )


@router.put("/v2/backfills/{backfill_id}/cancel")
def cancel_backfill(backfill_id: RowId, actor: ActorOf, service: ServiceOf) -> BackfillShape:
    """End a backfill: its queued runs fail, its running ones go on to their end."""
    now = service.now()
    return _change(
        service, actor, backfill_id, "cancel_backfill", lambda one: backfills.cancel(one, backfill_id, now=now)
    )


def _create(
    connection: Connection, service: Service, actor: Actor, body: BackfillBody, *, dry_run: bool
) -> backfills.Backfill:
    return backfills.create(
        connection,
        body.dag_id,
        body.from_date,
        body.to_date,
        conf=body.dag_run_conf,
        run_backwards=body.run_backwards,
        reprocess_behavior=body.reprocess_behavior,
        max_active_runs=body.max_active_runs,
        dry_run=dry_run,
        cron_style=service.settings.cron_style,
        latest=body.run_on_latest_version,
        default_latest=service.settings.rerun_with_latest_version,
        user=actor.username,
        now=service.now(),
    )


def _change(
    service: Service, actor: Actor, backfill_id: int, event: str, act: Callable[[Connection], None]
) -> BackfillShape:
    with service.database.begin() as connection:
        backfill = queries.get_backfill(connection, backfill_id)
        act(connection)
        audit.record(
            connection,
            actor=actor.username,
            event=event,
            dag_id=backfill["dag_id"],
            detail={"backfill": backfill_id},
            now=service.now(),
        )
        return backfill_shape(queries.get_backfill(connection, backfill_id))
