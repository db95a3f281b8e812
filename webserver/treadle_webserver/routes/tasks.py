"""The tasks of a DAG, as its newest document lists them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.versions import newest_document
from treadle_webserver.parameters import DagId, TaskId
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.tasks import TaskListShape, TaskShape, task_shapes

router = APIRouter(prefix="/api/v2/dags/{dag_id}/tasks", tags=["Task"], route_class=RetriedRoute)

OrderBy = Annotated[Literal["task_id", "-task_id"] | None, Query()]


@router.get("")
def get_tasks(dag_id: DagId, service: ServiceOf, order_by: OrderBy = None) -> TaskListShape:
    """List the tasks of a DAG, by default in topological order."""
    with service.database.begin() as connection:
        shapes = task_shapes(newest_document(connection, dag_id))
    if order_by is not None:
        shapes.sort(key=lambda shape: shape["task_id"], reverse=order_by.startswith("-"))
    return {"tasks": shapes, "total_entries": len(shapes)}


@router.get("/{task_id}")
def get_task(dag_id: DagId, task_id: TaskId, service: ServiceOf) -> TaskShape:
    """Return one task of a DAG."""
    with service.database.begin() as connection:
        shapes = {shape["task_id"]: shape for shape in task_shapes(newest_document(connection, dag_id))}
    if task_id not in shapes:
        raise NotFoundError(f"task of DAG {dag_id!r}", task_id, shapes)
    return shapes[task_id]
