"""Why is it not running? One answer for a DAG, a run, a task instance (specification section 19; case H5)."""

from __future__ import annotations

from fastapi import APIRouter

from treadle_metadata.queries import why as queries
from treadle_webserver.parameters import DagId, MapIndexQuery, RunId, TaskId
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.why import WhyShape, why_shape

router = APIRouter(prefix="/api/v2/dags/{dag_id}", tags=["Why"], route_class=RetriedRoute)


@router.get("/why")
def get_dag_why(dag_id: DagId, service: ServiceOf) -> WhyShape:
    """Return why a DAG gets or starts no run now."""
    with service.database.begin() as connection:
        found = queries.why_is_dag_not_running(connection, dag_id, now=service.now(), settings=service.settings)
    return why_shape(found)


@router.get("/dagRuns/{dag_run_id}/why")
def get_dag_run_why(dag_id: DagId, dag_run_id: RunId, service: ServiceOf) -> WhyShape:
    """Return why a run has not started, or what it waits for."""
    with service.database.begin() as connection:
        found = queries.why_is_run_not_running(
            connection, dag_id, dag_run_id, now=service.now(), settings=service.settings
        )
    return why_shape(found)


@router.get("/dagRuns/{dag_run_id}/taskInstances/{task_id}/why")
def get_task_instance_why(
    dag_id: DagId, dag_run_id: RunId, task_id: TaskId, service: ServiceOf, map_index: MapIndexQuery = -1
) -> WhyShape:
    """Return why a task instance does not run; without a map index, the first of a mapped task that waits."""
    with service.database.begin() as connection:
        found = queries.why_is_task_not_running(
            connection, dag_id, dag_run_id, task_id, map_index, now=service.now(), settings=service.settings
        )
    return why_shape(found)
