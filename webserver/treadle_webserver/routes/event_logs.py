"""The audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from treadle_metadata.queries import events as queries
from treadle_metadata.queries.conditions import Between
from treadle_webserver.authorize import Actor, ActorOf
from treadle_webserver.parameters import CursorQuery, Moment, RowId, Text, Texts, cursors
from treadle_webserver.permissions import Permission
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.resources import EventListShape, EventShape, event_shape

router = APIRouter(prefix="/api/v2/eventLogs", tags=["Event Log"], route_class=RetriedRoute)


class EventQuery(CursorQuery):
    """Which events."""

    dag_id: Text = None
    run_id: Text = None
    task_id: Text = None
    map_index: int | None = Field(None, ge=-1, le=2**31 - 1)
    owner: Text = None
    event: Text = None
    included_events: Texts = []
    excluded_events: Texts = []
    dag_id_pattern: Text = None
    dag_id_prefix_pattern: Text = None
    task_id_pattern: Text = None
    task_id_prefix_pattern: Text = None
    run_id_pattern: Text = None
    run_id_prefix_pattern: Text = None
    owner_pattern: Text = None
    owner_prefix_pattern: Text = None
    event_pattern: Text = None
    event_prefix_pattern: Text = None
    before: Moment = None
    after: Moment = None


@router.get("")
def get_event_logs(query: Annotated[EventQuery, Query()], actor: ActorOf, service: ServiceOf) -> EventListShape:
    """List audited changes, the newest first; those that concern no DAG only for who may read the whole log."""
    wanted = queries.EventFilter(
        dag_id=query.dag_id,
        run_id=query.run_id,
        task_id=query.task_id,
        map_index=query.map_index,
        actor=query.owner,
        events=[query.event] if query.event else query.included_events,
        excluded=query.excluded_events,
        patterns={name: getattr(query, f"{name}_pattern") for name in queries.MATCHED},
        prefixes={name: getattr(query, f"{name}_prefix_pattern") for name in queries.MATCHED},
        happened=Between(lt=query.before, gt=query.after),
        of_dags_only=_of_dags_only(actor),
    )
    with service.database.begin() as connection:
        page = queries.list_events(connection, wanted, query.page)
    return {"event_logs": [event_shape(row) for row in page.rows], **cursors(page)}


@router.get("/{event_log_id}")
def get_event_log(event_log_id: RowId, actor: ActorOf, service: ServiceOf) -> EventShape:
    """Return one audited change."""
    with service.database.begin() as connection:
        return event_shape(queries.get_event(connection, event_log_id, of_dags_only=_of_dags_only(actor)))


def _of_dags_only(actor: Actor) -> bool:
    return not actor.rights.everywhere_may(Permission.READ_WHOLE_AUDIT)
