"""Many task instances at once: a list asked for with a body, edits with a report of each, whole groups, previews."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy import Connection

from treadle_metadata import audit
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.marking import mark_selected, plan_marks
from treadle_metadata.notes import set_instance_note
from treadle_metadata.queries import task_instances as queries
from treadle_metadata.queries.groups import tasks_of_group
from treadle_metadata.queries.paging import PageRequest
from treadle_metadata.queries.runs import get_run
from treadle_metadata.queries.task_instances import rows_by_id
from treadle_webserver.authorize import ActorOf
from treadle_webserver.bulk import Acts, BulkBody, BulkShape, Mask, carry_out
from treadle_webserver.parameters import ALL, BatchBody, DagId, MapIndex, RunId, TaskId, Texts, cursors, one_or_all
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.task_instances import (
    InstancePatch,
    OptionalMapIndex,
    UpdateMask,
    change_instances,
    changed_shape,
    require_task,
)
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.runs import ChangedInstancesShape, InstanceListShape, instance_shape

router = APIRouter(prefix="/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}", tags=["TaskInstance"], route_class=RetriedRoute)


class InstancesBatchBody(BatchBody):
    """Which task instances, of any DAGs and runs."""

    dag_ids: Texts | None = None
    dag_run_ids: Texts | None = None
    task_ids: Texts | None = None
    state: Annotated[list[str | None], Field(max_length=50)] | None = None
    pool: Texts | None = None
    queue: Texts | None = None
    executor: Texts | None = None

    def wanted(self, dag_id: str | None, run_id: str | None) -> queries.InstanceFilter:
        """Return the filter; null among the states means undecided."""
        return queries.InstanceFilter(
            dag_id=dag_id,
            run_id=run_id,
            dag_ids=self.dag_ids or (),
            run_ids=self.dag_run_ids or (),
            task_ids=self.task_ids or (),
            states=["none" if one is None else one for one in self.state or ()],
            pools=self.pool or (),
            queues=self.queue or (),
            executors=self.executor or (),
            run_after=self.between("run_after"),
            logical_date=self.between("logical_date"),
            started=self.between("start_date"),
            ended=self.between("end_date"),
            duration=self.between("duration"),
        )


class BulkInstanceBody(InstancePatch):
    """One task instance and what to set of it. DAG and run may be left out where the address names them."""

    dag_id: Annotated[str, Field(max_length=250)] | None = None
    dag_run_id: Annotated[str, Field(max_length=250)] | None = None
    task_id: Annotated[str, Field(max_length=500)]
    map_index: Annotated[int, Field(ge=-1, le=2**31 - 1)] | None = None


@router.post("/taskInstances/list")
def get_task_instances_batch(
    dag_id: DagId, dag_run_id: RunId, body: InstancesBatchBody, service: ServiceOf
) -> InstanceListShape:
    """List task instances of many DAGs or runs; the ids stand in the body, and ``~`` in the address."""
    with service.database.begin() as connection:
        page = queries.list_instances(connection, body.wanted(one_or_all(dag_id), one_or_all(dag_run_id)), body.page)
    return {"task_instances": [instance_shape(row) for row in page.rows], **cursors(page)}


@router.patch("/taskInstances")
def bulk_task_instances(
    dag_id: DagId, dag_run_id: RunId, body: BulkBody[BulkInstanceBody], actor: ActorOf, service: ServiceOf
) -> BulkShape:
    """Set state or note of task instances, each on its own; the answer tells of each."""

    def name(one: BulkInstanceBody) -> tuple[str, str, str, int | None]:
        return _given(one.dag_id, dag_id), _given(one.dag_run_id, dag_run_id), one.task_id, one.map_index

    def key(one: BulkInstanceBody) -> str:
        return f"{one.dag_id or dag_id}.{one.dag_run_id or dag_run_id}.{one.task_id}[{one.map_index}]"

    def update(connection: Connection, one: BulkInstanceBody, mask: Mask) -> None:
        change_instances(connection, service, actor, name(one), one, mask)

    acts: Acts[BulkInstanceBody] = Acts(key=key, update=update)
    with service.database.begin() as connection:
        return carry_out(connection, body, acts)


@router.patch("/taskInstances/{task_id}/dry_run")
def patch_task_instance_dry_run(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    body: InstancePatch,
    service: ServiceOf,
    map_index: OptionalMapIndex = None,
    update_mask: UpdateMask = None,
) -> ChangedInstancesShape:
    """List the task instances whose state a patch of a task would change, without changing anything."""
    return _preview(service, dag_id, dag_run_id, task_id, map_index, body, update_mask)


@router.patch("/taskInstances/{task_id}/{map_index}/dry_run")
def patch_task_instance_dry_run_by_map_index(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    map_index: MapIndex,
    body: InstancePatch,
    service: ServiceOf,
    update_mask: UpdateMask = None,
) -> ChangedInstancesShape:
    """List the task instances whose state a patch of one instance would change, without changing anything."""
    return _preview(service, dag_id, dag_run_id, task_id, map_index, body, update_mask)


@router.patch("/taskGroupInstances/{group_id}")
def patch_task_group_instances(
    dag_id: DagId,
    dag_run_id: RunId,
    group_id: TaskId,
    body: InstancePatch,
    actor: ActorOf,
    service: ServiceOf,
    update_mask: UpdateMask = None,
) -> ChangedInstancesShape:
    """Set the state or the note of all task instances of a task group in a run."""
    given = {"new_state", "note"} & body.model_fields_set & set(update_mask or ("new_state", "note"))
    if not given:
        raise InvalidRequestError("nothing to change: expected 'new_state', 'note', or both")
    with service.database.begin() as connection:
        tasks = _tasks(connection, dag_id, dag_run_id, group_id)
        if "new_state" in given and body.new_state is not None:
            mark_selected(
                connection, body.selection(dag_id, dag_run_id, tasks, None), body.new_state, now=service.now()
            )
        if "note" in given:
            for task_id in tasks:
                set_instance_note(connection, dag_id, dag_run_id, task_id, body.note)
        audit.record(
            connection,
            actor=actor.username,
            event="patch_task_group_instances",
            dag_id=dag_id,
            run_id=dag_run_id,
            detail=body.model_dump(include=given) | {"group": group_id},
            now=service.now(),
        )
        wanted = queries.InstanceFilter(dag_id=dag_id, run_id=dag_run_id, task_ids=tasks)
        page = queries.list_instances(connection, wanted, PageRequest(limit=1000))
    return changed_shape(page.rows)


@router.patch("/taskGroupInstances/{group_id}/dry_run")
def patch_task_group_instances_dry_run(
    dag_id: DagId, dag_run_id: RunId, group_id: TaskId, body: InstancePatch, service: ServiceOf
) -> ChangedInstancesShape:
    """List the task instances whose state a patch of a task group would change, without changing anything."""
    with service.database.begin() as connection:
        tasks = _tasks(connection, dag_id, dag_run_id, group_id)
        return _planned(connection, body, dag_id, dag_run_id, tasks, None)


def _given(one: str | None, of_address: str) -> str:
    if of_address == ALL and one is None:
        raise InvalidRequestError(
            "which DAG and run? Expected dag_id and dag_run_id beside task_id where the address has ~"
        )
    if of_address not in {ALL, one or of_address}:
        raise InvalidRequestError(f"{one!r} stands beside task_id, and {of_address!r} in the address: which is meant?")
    return one or of_address


def _tasks(connection: Connection, dag_id: str, run_id: str, group_id: str) -> list[str]:
    run = get_run(connection, dag_id, run_id)
    return tasks_of_group(connection, dag_id, group_id, run["version_number"])


def _preview(
    service: Service,
    dag_id: str,
    run_id: str,
    task_id: str,
    map_index: int | None,
    body: InstancePatch,
    mask: list[Literal["new_state", "note"]] | None,
) -> ChangedInstancesShape:
    with service.database.begin() as connection:
        require_task(connection, dag_id, run_id, task_id, map_index)
        if mask is not None and "new_state" not in mask:
            return changed_shape([])
        return _planned(connection, body, dag_id, run_id, [task_id], map_index)


def _planned(
    connection: Connection, body: InstancePatch, dag_id: str, run_id: str, tasks: list[str], map_index: int | None
) -> ChangedInstancesShape:
    if body.new_state is None:
        return changed_shape([])
    marks = plan_marks(connection, body.selection(dag_id, run_id, tasks, map_index), body.new_state)
    return changed_shape(rows_by_id(connection, [(one["id"], one["month"]) for one in marks.marked]))
