"""The inbox of questions that tasks ask people. They are answered through ``/api/v2`` (``hitlDetails``)."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query

from treadle_metadata.identifiers import month_of
from treadle_metadata.queries.ui import human_steps as queries
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.ui.instances import HumanStepsShape, human_step_shape

router = APIRouter(prefix="/ui/humanSteps", tags=["UI"], route_class=RetriedRoute)

_LATELY: Final = timedelta(days=31)


@router.get("")
def get_ui_human_steps(
    service: ServiceOf,
    state: Literal["open", "answered"] = "open",
    limit: Annotated[int, Query(ge=1, le=500)] = 200,
) -> HumanStepsShape:
    """Return the questions that wait for an answer, the oldest first, or those answered lately, the newest first."""
    with service.database.begin() as connection:
        if state == "open":
            found = queries.open_steps(connection, limit=limit + 1)
        else:
            since = month_of(service.now() - _LATELY)
            found = queries.answered_steps(connection, since=since, limit=limit + 1)
        count = queries.count_open(connection)
    return {
        "steps": [human_step_shape(row) for row in found[:limit]],
        "open": count,
        "is_truncated": len(found) > limit,
    }
