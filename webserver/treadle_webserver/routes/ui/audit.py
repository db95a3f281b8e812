"""The audit log, of one DAG or of all that the account may see."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from treadle_metadata.queries.conditions import Between
from treadle_metadata.queries.events import EventFilter, list_events
from treadle_webserver.authorize import ActorOf
from treadle_webserver.parameters import Moment, Text, Texts
from treadle_webserver.permissions import Permission
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.ui.walking import WalkQuery
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.ui.across import AuditRowsShape, audit_row_shape

router = APIRouter(prefix="/ui/audit", tags=["UI"], route_class=RetriedRoute)


class AuditQuery(WalkQuery):
    """Which changes."""

    dag_id: Text = None
    run_id: Text = None
    task_id: Text = None
    actor: Text = None
    event: Texts = []
    since: Moment = None
    until: Moment = None


@router.get("")
def get_ui_audit(query: Annotated[AuditQuery, Query()], actor: ActorOf, service: ServiceOf) -> AuditRowsShape:
    """Return a page of audited changes, the newest first."""
    wanted = EventFilter(
        dag_id=query.dag_id,
        run_id=query.run_id,
        task_id=query.task_id,
        actor=query.actor,
        events=query.event,
        happened=Between(gte=query.since, lt=query.until),
        of_dags_only=not actor.rights.everywhere_may(Permission.READ_WHOLE_AUDIT),
    )
    with service.database.begin() as connection:
        page = list_events(connection, wanted, query.page())
    return {"events": [audit_row_shape(row) for row in page.rows], "next_cursor": page.next_cursor}
