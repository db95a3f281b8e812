"""Where a task instance leads: the addresses that its operator's links gave at the end of an attempt."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from treadle_metadata.queries.task_instances import get_instance, links_of
from treadle_webserver.parameters import DagId, MapIndexQuery, RunId, TaskId
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf

router = APIRouter(
    prefix="/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}",
    tags=["ExtraLinks"],
    route_class=RetriedRoute,
)

TryNumberQuery = Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Which try; by default the newest")]


class ExtraLinksShape(TypedDict):
    """Addresses by the names of the links; a link that gave none is left out."""

    extra_links: dict[str, str]
    total_entries: int


@router.get("/links")
def get_extra_links(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    service: ServiceOf,
    map_index: MapIndexQuery = -1,
    try_number: TryNumberQuery = None,
) -> ExtraLinksShape:
    """Return the links of a task instance, as its attempts of one try made them."""
    with service.database.begin() as connection:
        instance = get_instance(connection, dag_id, dag_run_id, task_id, map_index)
        links = links_of(connection, instance, try_number)
    return {"extra_links": links, "total_entries": len(links)}
