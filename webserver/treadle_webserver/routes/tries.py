"""The attempts of a task instance."""

from __future__ import annotations

from fastapi import APIRouter

from treadle_metadata.queries.task_instances import get_instance, get_try, list_tries
from treadle_webserver.parameters import DagId, MapIndex, MapIndexQuery, RunId, TaskId, TryNumber
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.runs import TryListShape, TryShape, try_shape

router = APIRouter(
    prefix="/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}",
    tags=["TaskInstance"],
    route_class=RetriedRoute,
)


@router.get("/tries")
def get_task_instance_tries(
    dag_id: DagId, dag_run_id: RunId, task_id: TaskId, service: ServiceOf, map_index: MapIndexQuery = -1
) -> TryListShape:
    """List the attempts of a task instance, the oldest first."""
    return _tries(service, dag_id, dag_run_id, task_id, map_index)


@router.get("/{map_index}/tries")
def get_mapped_task_instance_tries(
    dag_id: DagId, dag_run_id: RunId, task_id: TaskId, map_index: MapIndex, service: ServiceOf
) -> TryListShape:
    """List the attempts of one instance of a mapped task, the oldest first."""
    return _tries(service, dag_id, dag_run_id, task_id, map_index)


@router.get("/tries/{task_try_number}")
def get_task_instance_try_details(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    task_try_number: TryNumber,
    service: ServiceOf,
    map_index: MapIndexQuery = -1,
) -> TryShape:
    """Return one attempt of a task instance."""
    return _try(service, dag_id, dag_run_id, task_id, map_index, task_try_number)


@router.get("/{map_index}/tries/{task_try_number}")
def get_mapped_task_instance_try_details(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    map_index: MapIndex,
    task_try_number: TryNumber,
    service: ServiceOf,
) -> TryShape:
    """Return one attempt of one instance of a mapped task."""
    return _try(service, dag_id, dag_run_id, task_id, map_index, task_try_number)


def _tries(service: Service, dag_id: str, run_id: str, task_id: str, map_index: int) -> TryListShape:
    with service.database.begin() as connection:
        instance = get_instance(connection, dag_id, run_id, task_id, map_index)
        shapes = [try_shape(instance, attempt) for attempt in list_tries(connection, instance)]
    return {"task_instances": shapes, "total_entries": len(shapes)}


def _try(service: Service, dag_id: str, run_id: str, task_id: str, map_index: int, number: int) -> TryShape:
    with service.database.begin() as connection:
        instance = get_instance(connection, dag_id, run_id, task_id, map_index)
        return try_shape(instance, get_try(connection, instance, number))
