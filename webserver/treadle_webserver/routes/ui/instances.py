"""One task instance with all that its page shows, and the instances of a mapped task page by page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy import Connection

from treadle_metadata.queries import task_instances as of_instances
from treadle_metadata.queries import why
from treadle_metadata.queries.ui import instances as queries
from treadle_metadata.queries.ui import run_pages
from treadle_metadata.queries.ui.structures import Structure
from treadle_metadata.states import FINISHED, TaskState
from treadle_webserver.parameters import DagId, MapIndexQuery, RunId, TaskId
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.ui.walking import WalkQuery
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.ui.instances import (
    InstancePageShape,
    InstanceRowsShape,
    NeighbourShape,
    attempt_shape,
    instance_facts_shape,
    instance_row_shape,
    link_shapes,
    neighbour_shape,
)
from treadle_webserver.shapes.why import WhyShape, why_shape

router = APIRouter(prefix="/ui/dags/{dag_id}/runs/{run_id}/tasks/{task_id}", tags=["UI"], route_class=RetriedRoute)

_FINISHED = frozenset(state.value for state in FINISHED)


@router.get("")
def get_ui_instance(
    dag_id: DagId, run_id: RunId, task_id: TaskId, service: ServiceOf, map_index: MapIndexQuery = -1
) -> InstancePageShape:
    """Return one task instance: its facts, attempts, rendered fields, neighbours, and why it does not run."""
    with service.database.begin() as connection:
        row = of_instances.get_instance(connection, dag_id, run_id, task_id, map_index)
        run = run_pages.get_run(connection, dag_id, run_id)
        attempts = of_instances.list_tries(connection, row)
        rendered = of_instances.rendered_fields(connection, row)
        links = of_instances.links_of(connection, row)
        structure = service.structures.get(connection, row["version_id"])
        upstream, downstream = _around(connection, run, task_id, structure)
        found = None if _tells_itself(row, attempts) else _why(connection, row, service)
    known = {one.id: one for one in structure.rows}.get(task_id)
    return {
        **instance_facts_shape(row),
        "run_state": run["state"],
        "trigger_rule": None if known is None else known.trigger_rule,
        "doc_md": None if known is None else known.doc,
        "is_mapped": map_index >= 0 or (known is not None and known.is_mapped),
        "attempts": [attempt_shape(one) for one in attempts],
        "rendered_fields": rendered,
        "links": link_shapes(() if known is None else known.links, links),
        "upstream": upstream,
        "downstream": downstream,
        "why": found,
    }


def _tells_itself(row: Mapping[str, Any], attempts: Sequence[object]) -> bool:
    """Return whether nothing is to be explained: it went well, or its last attempt says why it did not."""
    return row["state"] in _FINISHED and (row["state"] == TaskState.SUCCESS or len(attempts) > 0)


def _why(connection: Connection, row: Mapping[str, Any], service: Service) -> WhyShape:
    found = why.why_is_task_not_running(
        connection,
        row["dag_id"],
        row["run_id"],
        row["task_id"],
        row["map_index"],
        now=service.now(),
        settings=service.settings,
    )
    return why_shape(found)


def _around(
    connection: Connection, run: Mapping[str, Any], task_id: str, structure: Structure
) -> tuple[list[NeighbourShape], list[NeighbourShape]]:
    above = list(structure.upstream.get(task_id, ()))
    below = [one for one, upstream in structure.upstream.items() if task_id in upstream]
    states = queries.states_of(connection, run, [*above, *below])
    return (
        [neighbour_shape(one, states.get(one, {})) for one in above],
        [neighbour_shape(one, states.get(one, {})) for one in below],
    )


class InstancesQuery(WalkQuery):
    """Which instances."""

    limit: int = Field(100, ge=1, le=1000)
    state: Annotated[list[Annotated[str, Field(max_length=50)]], Field(max_length=20)] = []


@router.get("/instances")
def get_ui_instances(
    dag_id: DagId, run_id: RunId, task_id: TaskId, query: Annotated[InstancesQuery, Query()], service: ServiceOf
) -> InstanceRowsShape:
    """Return a page of the instances of a task in a run, by map index, and how many are in which state."""
    with service.database.begin() as connection:
        run = run_pages.get_run(connection, dag_id, run_id)
        page = queries.list_instances(connection, run, task_id, query.page(), states=query.state)
        counts = queries.states_of(connection, run, [task_id]).get(task_id, {})
    return {
        "dag_id": dag_id,
        "run_id": run_id,
        "task_id": task_id,
        "counts": counts,
        "instances": [instance_row_shape(row) for row in page.rows],
        "next_cursor": page.next_cursor,
    }
