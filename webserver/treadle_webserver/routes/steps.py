"""Durable steps: journals of a run, steps of a task instance, decisions of people, posts of outside parties."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException
from sqlalchemy import Connection

from treadle_metadata import audit, journals
from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.runs import get_run
from treadle_metadata.queries.steps import journals_of_run, steps_of
from treadle_metadata.queries.task_instances import get_instance
from treadle_webserver.authorize import Actor, ActorOf, AwakeableOf
from treadle_webserver.parameters import DagId, MapIndexQuery, RunId, StrictBody, TaskId
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.steps import (
    AcceptedShape,
    DiscardedShape,
    JournalListShape,
    PostedShape,
    StepListShape,
    journal_shape,
    step_shape,
)

router = APIRouter(prefix="/api/v2", tags=["DurableStep"], route_class=RetriedRoute)

_RUN = "/dags/{dag_id}/dagRuns/{dag_run_id}"
_INSTANCE = f"{_RUN}/taskInstances/{{task_id}}"


class PostBody(StrictBody):
    """What an awakeable comes to: any JSON."""

    payload: Any = None


@router.get(f"{_RUN}/steps")
def get_journals(dag_id: DagId, dag_run_id: RunId, service: ServiceOf) -> JournalListShape:
    """List the task instances of a run that have a journal of durable steps."""
    with service.database.begin() as connection:
        found = journals_of_run(connection, get_run(connection, dag_id, dag_run_id))
    return {"journals": [journal_shape(row) for row in found], "total_entries": len(found)}


@router.get(f"{_INSTANCE}/steps")
def get_steps(
    dag_id: DagId, dag_run_id: RunId, task_id: TaskId, service: ServiceOf, map_index: MapIndexQuery = -1
) -> StepListShape:
    """List the durable steps of a task instance, with their values and idempotency keys."""
    with service.database.begin() as connection:
        found = steps_of(connection, get_instance(connection, dag_id, dag_run_id, task_id, map_index))
    return {"steps": [step_shape(row) for row in found], "total_entries": len(found)}


@router.post(f"{_INSTANCE}/steps/accept")
def accept_plan(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    actor: ActorOf,
    service: ServiceOf,
    map_index: MapIndexQuery = -1,
) -> AcceptedShape:
    """Let the code that was refused go on with the recorded steps, and the failed task run again."""
    with service.database.begin() as connection:
        instance = get_instance(connection, dag_id, dag_run_id, task_id, map_index)
        plan = journals.accept(connection, instance, now=service.now())
        _note(connection, service, actor, instance, "accept_steps")
    return {"plan": plan}


@router.post(f"{_INSTANCE}/steps/discard")
def discard_steps(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    actor: ActorOf,
    service: ServiceOf,
    map_index: MapIndexQuery = -1,
) -> DiscardedShape:
    """Discard the recorded steps, so that all are done anew; a failed task runs again."""
    with service.database.begin() as connection:
        instance = get_instance(connection, dag_id, dag_run_id, task_id, map_index)
        again = journals.discard(connection, instance, now=service.now())
        _note(connection, service, actor, instance, "discard_steps")
    return {"runs_again": again}


@router.post("/awakeables")
def post_awakeable(token: AwakeableOf, service: ServiceOf, body: PostBody | None = None) -> PostedShape:
    """Give an awakeable its value. The request's bearer token is the awakeable's, and good for one post."""
    try:
        with service.database.begin() as connection:
            return {"name": journals.post(connection, token, body and body.payload, now=service.now())}
    except NotFoundError as error:
        raise HTTPException(401, "The token is no awakeable's", {"WWW-Authenticate": "Bearer"}) from error


def _note(connection: Connection, service: Service, actor: Actor, instance: dict[str, Any], event: str) -> None:
    audit.record(
        connection,
        actor=actor.username,
        event=event,
        dag_id=instance["dag_id"],
        run_id=instance["run_id"],
        detail={"task_id": instance["task_id"], "map_index": instance["map_index"]},
        now=service.now(),
    )
