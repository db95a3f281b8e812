"""What a task instance waits for, in the form that Airflow's API has: a list of what is not met."""

from __future__ import annotations

from fastapi import APIRouter
from typing_extensions import TypedDict

from treadle_metadata.deciding.reasons import Reason
from treadle_metadata.queries.why import why_is_task_not_running
from treadle_webserver.parameters import DagId, MapIndex, MapIndexQuery, RunId, TaskId
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf

router = APIRouter(
    prefix="/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}",
    tags=["TaskInstance"],
    route_class=RetriedRoute,
)


class DependencyShape(TypedDict):
    """Something that is not met: what it is, and in words why not."""

    name: str
    reason: str


class DependencyListShape(TypedDict):
    """All that is not met; nothing for what runs or is over."""

    dependencies: list[DependencyShape]


@router.get("/dependencies")
def get_task_instance_dependencies(
    dag_id: DagId, dag_run_id: RunId, task_id: TaskId, service: ServiceOf, map_index: MapIndexQuery = -1
) -> DependencyListShape:
    """Return what keeps a task instance from running, the first thing first. ``.../why`` tells more."""
    return _unmet(service, dag_id, dag_run_id, task_id, map_index)


@router.get("/{map_index}/dependencies")
def get_task_instance_dependencies_by_map_index(
    dag_id: DagId, dag_run_id: RunId, task_id: TaskId, map_index: MapIndex, service: ServiceOf
) -> DependencyListShape:
    """Return what keeps one instance of a mapped task from running."""
    return _unmet(service, dag_id, dag_run_id, task_id, map_index)


def _unmet(service: Service, dag_id: str, run_id: str, task_id: str, map_index: int) -> DependencyListShape:
    with service.database.begin() as connection:
        found = why_is_task_not_running(
            connection, dag_id, run_id, task_id, map_index, now=service.now(), settings=service.settings
        )
    if found.reason in {Reason.RUNNING, Reason.FINISHED}:
        return {"dependencies": []}
    return {"dependencies": [{"name": found.reason.value, "reason": found.sentence}]}
