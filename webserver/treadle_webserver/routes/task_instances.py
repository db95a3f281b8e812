"""Task instances: list, one, the mapped ones of a task, setting state or note."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy import Connection

from treadle_metadata import audit
from treadle_metadata.errors import InvalidRequestError, NotFoundError
from treadle_metadata.marking import mark_selected
from treadle_metadata.notes import set_instance_note
from treadle_metadata.queries import task_instances as queries
from treadle_metadata.queries.dags import get_dag
from treadle_metadata.queries.paging import Page, PageRequest
from treadle_metadata.selecting import Selection
from treadle_webserver.authorize import Actor, ActorOf
from treadle_webserver.parameters import (
    DagId,
    MapIndex,
    MapIndexQuery,
    Numbers,
    RunDatesQuery,
    RunId,
    StrictBody,
    TaskId,
    Text,
    Texts,
    cursors,
    one_or_all,
)
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.runs import (
    ChangedInstancesShape,
    InstanceListShape,
    InstanceShape,
    instance_shape,
)

router = APIRouter(
    prefix="/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances", tags=["TaskInstance"], route_class=RetriedRoute
)


class InstanceQuery(RunDatesQuery):
    """Which task instances. The state of undecided ones is ``none``."""

    task_id: Text = None
    task_display_name_pattern: Text = None
    map_index: Numbers = []
    state: Texts = []
    pool: Texts = []
    queue: Texts = []
    executor: Texts = []
    operator: Texts = []
    try_number: Numbers = []
    run_id_pattern: Text = None
    dag_id_pattern: Text = None

    def wanted(self, dag_id: str, run_id: str, task_id: str | None = None) -> queries.InstanceFilter:
        """Return the filter, for one or all DAGs and runs."""
        task = task_id or self.task_id
        return queries.InstanceFilter(
            dag_id=one_or_all(dag_id),
            run_id=one_or_all(run_id),
            task_ids=[task] if task else (),
            map_indexes=self.map_index,
            states=self.state,
            pools=self.pool,
            queues=self.queue,
            executors=self.executor,
            operators=self.operator,
            try_numbers=self.try_number,
            task_id_pattern=self.task_display_name_pattern,
            run_id_pattern=self.run_id_pattern,
            dag_id_pattern=self.dag_id_pattern,
            run_after=self.between("run_after"),
            logical_date=self.between("logical_date"),
            started=self.between("start_date"),
            ended=self.between("end_date"),
        )


class InstancePatch(StrictBody):
    """What can be changed of a task instance, and around it: a new state is set for all that is included."""

    new_state: Literal["success", "failed", "skipped"] | None = None
    note: Annotated[str, Field(max_length=1000)] | None = None
    include_upstream: bool = False
    include_downstream: bool = False
    include_past: bool = False
    include_future: bool = False


UpdateMask = Annotated[list[Literal["new_state", "note"]] | None, Query(max_length=2)]
OptionalMapIndex = Annotated[int | None, Query(ge=-1, le=2**31 - 1)]


@router.get("")
def get_task_instances(
    dag_id: DagId, dag_run_id: RunId, query: Annotated[InstanceQuery, Query()], service: ServiceOf
) -> InstanceListShape:
    """List the task instances of a run; ``~`` stands for all DAGs or all runs."""
    with service.database.begin() as connection:
        if one_or_all(dag_id) is not None:
            get_dag(connection, dag_id)
        page = queries.list_instances(connection, query.wanted(dag_id, dag_run_id), query.page)
    return _list_shape(page)


@router.get("/{task_id}")
def get_task_instance(
    dag_id: DagId, dag_run_id: RunId, task_id: TaskId, service: ServiceOf, map_index: MapIndexQuery = -1
) -> InstanceShape:
    """Return one task instance; for an instance of a mapped task name its map index."""
    return _one(service, dag_id, dag_run_id, task_id, map_index)


@router.get("/{task_id}/listMapped")
def get_mapped_task_instances(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    query: Annotated[InstanceQuery, Query()],
    service: ServiceOf,
) -> InstanceListShape:
    """List the instances of a mapped task, by map index."""
    with service.database.begin() as connection:
        page = queries.list_instances(connection, query.wanted(dag_id, dag_run_id, task_id), query.page)
        if not page.rows:
            _require_task(connection, dag_id, dag_run_id, task_id)
    return _list_shape(page)


@router.get("/{task_id}/{map_index}")
def get_mapped_task_instance(
    dag_id: DagId, dag_run_id: RunId, task_id: TaskId, map_index: MapIndex, service: ServiceOf
) -> InstanceShape:
    """Return one instance of a mapped task."""
    return _one(service, dag_id, dag_run_id, task_id, map_index)


@router.patch("/{task_id}")
def patch_task_instance(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    body: InstancePatch,
    actor: ActorOf,
    service: ServiceOf,
    map_index: OptionalMapIndex = None,
    update_mask: UpdateMask = None,
) -> ChangedInstancesShape:
    """Set the state or the note of a task's instances: of all of them, or of the one named by its map index."""
    return _patch(service, actor, dag_id, dag_run_id, task_id, map_index, body, update_mask)


@router.patch("/{task_id}/{map_index}")
def patch_task_instance_by_map_index(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    map_index: MapIndex,
    body: InstancePatch,
    actor: ActorOf,
    service: ServiceOf,
    update_mask: UpdateMask = None,
) -> ChangedInstancesShape:
    """Set the state or the note of one instance of a mapped task."""
    return _patch(service, actor, dag_id, dag_run_id, task_id, map_index, body, update_mask)


def _one(service: Service, dag_id: str, run_id: str, task_id: str, map_index: int) -> InstanceShape:
    with service.database.begin() as connection:
        instance = queries.get_instance(connection, dag_id, run_id, task_id, map_index)
        return instance_shape(instance, queries.rendered_fields(connection, instance))


def _patch(
    service: Service,
    actor: Actor,
    dag_id: str,
    run_id: str,
    task_id: str,
    map_index: int | None,
    body: InstancePatch,
    update_mask: list[Literal["new_state", "note"]] | None,
) -> ChangedInstancesShape:
    changeable = {"new_state", "note"} if update_mask is None else set(update_mask)
    given = body.model_fields_set & changeable
    if not given:
        raise InvalidRequestError("nothing to change: expected 'new_state', 'note', or both")
    now = service.now()
    with service.database.begin() as connection:
        if "new_state" in given and body.new_state is not None:
            _require_task(connection, dag_id, run_id, task_id)
            selection = Selection(
                dag_id=dag_id,
                run_id=run_id,
                task_ids=(task_id,),
                map_indexes=None if map_index is None else (map_index,),
                include_upstream=body.include_upstream,
                include_downstream=body.include_downstream,
                include_past=body.include_past,
                include_future=body.include_future,
            )
            mark_selected(connection, selection, body.new_state, now=now)
        if "note" in given:
            set_instance_note(connection, dag_id, run_id, task_id, body.note, map_index=map_index)
        rows = _changed(connection, dag_id, run_id, task_id, map_index)
        audit.record(
            connection,
            actor=actor.username,
            event="patch_task_instance",
            dag_id=dag_id,
            run_id=run_id,
            task_id=task_id,
            map_index=map_index,
            detail=body.model_dump(include=given),
            now=now,
        )
    return {"task_instances": [instance_shape(row) for row in rows], "total_entries": len(rows)}


def _changed(
    connection: Connection, dag_id: str, run_id: str, task_id: str, map_index: int | None
) -> list[dict[str, Any]]:
    if map_index is not None:
        return [queries.get_instance(connection, dag_id, run_id, task_id, map_index)]
    wanted = queries.InstanceFilter(dag_id=dag_id, run_id=run_id, task_ids=[task_id])
    page = queries.list_instances(connection, wanted, PageRequest(limit=1000))
    if not page.rows:
        raise NotFoundError(f"task instance of run {run_id!r}", task_id)
    return page.rows


def _require_task(connection: Connection, dag_id: str, run_id: str, task_id: str) -> None:
    wanted = queries.InstanceFilter(dag_id=dag_id, run_id=run_id, task_ids=[task_id])
    if not queries.list_instances(connection, wanted, PageRequest(limit=1)).rows:
        raise NotFoundError(f"task instance of run {run_id!r}", task_id)


def _list_shape(page: Page) -> InstanceListShape:
    return {"task_instances": [instance_shape(row) for row in page.rows], **cursors(page)}
