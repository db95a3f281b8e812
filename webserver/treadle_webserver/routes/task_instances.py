"""Task instances: list, one, the mapped ones of a task, setting state or note."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from sqlalchemy import Connection

from treadle_metadata import audit
from treadle_metadata.errors import InvalidRequestError, NotFoundError
from treadle_metadata.marking import mark_selected
from treadle_metadata.notes import set_instance_note
from treadle_metadata.queries import task_instances as queries
from treadle_metadata.queries.dags import check_dag
from treadle_metadata.queries.paging import Page, PageRequest
from treadle_metadata.runs import lock_run
from treadle_metadata.selecting import Selection
from treadle_webserver.authorize import Actor, ActorOf
from treadle_webserver.etags import IfMatch, require_match, tag
from treadle_webserver.parameters import (
    DagId,
    MapIndex,
    MapIndexQuery,
    Note,
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


NewState = Literal["success", "failed", "skipped"]


class InstanceQuery(RunDatesQuery):
    """Which task instances. The state of undecided ones is ``none``."""

    task_id: Text = None
    task_group_id: Text = None
    map_index: Numbers = []
    state: Texts = []
    pool: Texts = []
    queue: Texts = []
    executor: Texts = []
    operator: Texts = []
    try_number: Numbers = []
    version_number: Numbers = []
    task_display_name_pattern: Text = None
    task_display_name_prefix_pattern: Text = None
    run_id_pattern: Text = None
    run_id_prefix_pattern: Text = None
    dag_id_pattern: Text = None
    dag_id_prefix_pattern: Text = None
    pool_name_pattern: Text = None
    pool_name_prefix_pattern: Text = None
    queue_name_pattern: Text = None
    queue_name_prefix_pattern: Text = None
    operator_name_pattern: Text = None
    operator_name_prefix_pattern: Text = None
    rendered_map_index_pattern: Text = None
    rendered_map_index_prefix_pattern: Text = None

    def wanted(self, dag_id: str, run_id: str, task_id: str | None = None) -> queries.InstanceFilter:
        """Return the filter, for one or all DAGs and runs."""
        task = task_id or self.task_id
        return queries.InstanceFilter(
            dag_id=one_or_all(dag_id),
            run_id=one_or_all(run_id),
            task_ids=[task] if task else (),
            group_id=self.task_group_id,
            map_indexes=self.map_index,
            states=self.state,
            pools=self.pool,
            queues=self.queue,
            executors=self.executor,
            operators=self.operator,
            try_numbers=self.try_number,
            version_numbers=self.version_number,
            patterns={name: getattr(self, f"{name}_pattern") for name in queries.MATCHED},
            prefixes={name: getattr(self, f"{name}_prefix_pattern") for name in queries.MATCHED},
            run_after=self.between("run_after"),
            logical_date=self.between("logical_date"),
            started=self.between("start_date"),
            ended=self.between("end_date"),
            changed=self.between("updated_at"),
            duration=self.between("duration"),
        )


class InstancePatch(StrictBody):
    """What can be changed of a task instance, and around it: a new state is set for all that is included."""

    new_state: NewState | None = None
    note: Note = None
    include_upstream: bool = False
    include_downstream: bool = False
    include_past: bool = False
    include_future: bool = False

    def selection(self, dag_id: str, run_id: str, task_ids: Sequence[str], map_index: int | None) -> Selection:
        """Return which instances a new state is for."""
        return Selection(
            dag_id=dag_id,
            run_id=run_id,
            task_ids=tuple(task_ids),
            map_indexes=None if map_index is None else (map_index,),
            include_upstream=self.include_upstream,
            include_downstream=self.include_downstream,
            include_past=self.include_past,
            include_future=self.include_future,
        )


UpdateMask = Annotated[list[Literal["new_state", "note"]] | None, Query(max_length=2)]
OptionalMapIndex = Annotated[int | None, Query(ge=-1, le=2**31 - 1)]


@router.get("")
def get_task_instances(
    dag_id: DagId, dag_run_id: RunId, query: Annotated[InstanceQuery, Query()], service: ServiceOf
) -> InstanceListShape:
    """List the task instances of a run; ``~`` stands for all DAGs or all runs."""

    def read(connection: Connection) -> Page:
        if one_or_all(dag_id) is not None:
            check_dag(connection, dag_id)
        return queries.list_instances(connection, query.wanted(dag_id, dag_run_id), query.page)

    return _list_shape(service.database.run_each(read))


@router.get("/{task_id}")
def get_task_instance(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    service: ServiceOf,
    response: Response,
    map_index: MapIndexQuery = -1,
) -> InstanceShape:
    """Return one task instance; for an instance of a mapped task name its map index."""
    return _one(service, response, dag_id, dag_run_id, task_id, map_index)


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
            require_task(connection, dag_id, dag_run_id, task_id)
    return _list_shape(page)


@router.get("/{task_id}/{map_index}")
def get_mapped_task_instance(
    dag_id: DagId, dag_run_id: RunId, task_id: TaskId, map_index: MapIndex, service: ServiceOf, response: Response
) -> InstanceShape:
    """Return one instance of a mapped task."""
    return _one(service, response, dag_id, dag_run_id, task_id, map_index)


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
    if_match: IfMatch = None,
) -> ChangedInstancesShape:
    """Set the state or the note of a task's instances: of all of them, or of the one named by its map index."""
    return _patch(service, actor, (dag_id, dag_run_id, task_id, map_index), body, update_mask, if_match)


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
    if_match: IfMatch = None,
) -> ChangedInstancesShape:
    """Set the state or the note of one instance of a mapped task."""
    return _patch(service, actor, (dag_id, dag_run_id, task_id, map_index), body, update_mask, if_match)


def _one(service: Service, response: Response, dag_id: str, run_id: str, task_id: str, map_index: int) -> InstanceShape:
    with service.database.begin() as connection:
        instance = queries.get_instance(connection, dag_id, run_id, task_id, map_index)
        rendered = queries.rendered_fields(connection, instance)
    tag(response, *_facts(instance))
    return instance_shape(instance, rendered)


def _patch(
    service: Service,
    actor: Actor,
    name: tuple[str, str, str, int | None],
    body: InstancePatch,
    mask: list[Literal["new_state", "note"]] | None,
    if_match: str | None,
) -> ChangedInstancesShape:
    dag_id, run_id, task_id, map_index = name
    with service.database.begin() as connection:
        if if_match is not None:
            lock_run(connection, dag_id, run_id)
            seen = queries.get_instance(connection, dag_id, run_id, task_id, -1 if map_index is None else map_index)
            require_match(if_match, "task instance", task_id, *_facts(seen))
        change_instances(connection, service, actor, name, body, mask)
        rows = _changed(connection, *name)
    return changed_shape(rows)


def change_instances(
    connection: Connection,
    service: Service,
    actor: Actor,
    name: tuple[str, str, str, int | None],
    body: InstancePatch,
    mask: Collection[str] | None,
) -> None:
    """Set what is given, and in ``mask``, of a task's instances: DAG, run, task, map index (None: all); record it.

    Raises:
        NotFoundError: there is no such run or instance.
        InvalidRequestError: nothing is given.
    """
    dag_id, run_id, task_id, map_index = name
    given = {"new_state", "note"} & body.model_fields_set
    given = given if mask is None else given & set(mask)
    if not given:
        raise InvalidRequestError("nothing to change: expected 'new_state', 'note', or both")
    require_task(connection, dag_id, run_id, task_id, map_index)
    was = _told(_changed(connection, *name), given)
    if "new_state" in given and body.new_state is not None:
        mark_selected(
            connection, body.selection(dag_id, run_id, [task_id], map_index), body.new_state, now=service.now()
        )
    if "note" in given:
        set_instance_note(connection, dag_id, run_id, task_id, body.note, map_index=map_index)
    audit.record(
        connection,
        actor=actor.username,
        event="patch_task_instance",
        dag_id=dag_id,
        run_id=run_id,
        task_id=task_id,
        map_index=map_index,
        before=was,
        after=_told(_changed(connection, *name), given),
        now=service.now(),
    )


def _told(rows: Sequence[Mapping[str, Any]], given: Collection[str]) -> dict[str, Any]:
    """Return what the audit log is told of instances: the states and notes that are among them."""
    columns = {"new_state": "state", "note": "note"}
    return {columns[name]: sorted({str(row[columns[name]]) for row in rows}) for name in sorted(given)}


def changed_shape(rows: Sequence[Mapping[str, Any]]) -> ChangedInstancesShape:
    """Return the task instances that an act changed or would change."""
    return {"task_instances": [instance_shape(row) for row in rows], "total_entries": len(rows)}


def _changed(
    connection: Connection, dag_id: str, run_id: str, task_id: str, map_index: int | None
) -> list[dict[str, Any]]:
    if map_index is not None:
        return [queries.get_instance(connection, dag_id, run_id, task_id, map_index)]
    wanted = queries.InstanceFilter(dag_id=dag_id, run_id=run_id, task_ids=[task_id])
    return queries.list_instances(connection, wanted, PageRequest(limit=1000)).rows


def require_task(connection: Connection, dag_id: str, run_id: str, task_id: str, map_index: int | None = None) -> None:
    """Check that a run has such a task, or such an instance of it.

    Raises:
        NotFoundError: it has none.
    """
    indexes = () if map_index is None else (map_index,)
    wanted = queries.InstanceFilter(dag_id=dag_id, run_id=run_id, task_ids=[task_id], map_indexes=indexes)
    if not queries.list_instances(connection, wanted, PageRequest(limit=1)).rows:
        raise NotFoundError(
            f"task instance of run {run_id!r}", f"{task_id}" if not indexes else f"{task_id}[{map_index}]"
        )


def _facts(row: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(row[name] for name in ("id", "state", "try_number", "attempt_id", "note"))


def _list_shape(page: Page) -> InstanceListShape:
    return {"task_instances": [instance_shape(row) for row in page.rows], **cursors(page)}
