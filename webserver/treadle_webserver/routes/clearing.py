"""Clearing: letting task instances of one or several runs run again, or showing which would."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

from fastapi import APIRouter
from pydantic import AwareDatetime, Field
from sqlalchemy import Connection

from treadle_metadata import audit
from treadle_metadata.clearing import Plan, clear
from treadle_metadata.errors import ConflictError, InvalidRequestError, shown
from treadle_metadata.notes import set_notes, set_run_note
from treadle_metadata.queries.runs import get_run
from treadle_metadata.queries.task_instances import rows_by_id
from treadle_metadata.selecting import Selection
from treadle_metadata.states import TaskState
from treadle_webserver.authorize import Actor, ActorOf
from treadle_webserver.parameters import DagId, Note, RunId, StrictBody
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.operations import ClearedShape, change_shape
from treadle_webserver.shapes.runs import RunShape, instance_shape, run_shape

router = APIRouter(prefix="/api/v2/dags/{dag_id}", tags=["TaskInstance"], route_class=RetriedRoute)

TaskName = Annotated[str, Field(max_length=500)]
TaskReference = TaskName | tuple[TaskName, Annotated[int, Field(ge=-1, le=2**31 - 1)]]


class ClearBody(StrictBody):
    """Which task instances to clear. By default nothing is changed, only listed: ``dry_run`` is true.

    ``task_ids``: ids, or pairs of an id and a map index. ``reset_dag_runs`` is always so: cleared runs go on.
    ``run_on_latest_version`` left out: what the DAG says (``rerun_with_latest_version``), then the setting.
    """

    dry_run: bool = True
    start_date: AwareDatetime | None = None
    end_date: AwareDatetime | None = None
    only_failed: bool = True
    only_running: bool = False
    reset_dag_runs: bool = True
    task_ids: Annotated[list[TaskReference], Field(max_length=10_000)] | None = None
    dag_run_id: Annotated[str, Field(max_length=250)] | None = None
    include_upstream: bool = False
    include_downstream: bool = False
    include_past: bool = False
    include_future: bool = False
    run_on_latest_version: bool | None = None
    prevent_running_task: bool = False
    note: Note = None


class ClearRunBody(StrictBody):
    """How to clear a run. By default nothing is changed, only listed."""

    dry_run: bool = True
    only_failed: bool = False
    only_new: Literal[False] = False
    run_on_latest_version: bool | None = None
    note: Note = None


@router.post("/clearTaskInstances")
def post_clear_task_instances(dag_id: DagId, body: ClearBody, actor: ActorOf, service: ServiceOf) -> ClearedShape:
    """Clear task instances of a DAG, in one run or in a range of dates."""
    if body.only_failed and body.only_running:
        raise InvalidRequestError("only_failed and only_running exclude each other; set one of them to false")
    if not body.reset_dag_runs:
        raise InvalidRequestError("reset_dag_runs cannot be false: a finished run would never run what was cleared")
    if (body.include_past or body.include_future) and body.dag_run_id is None:
        raise InvalidRequestError("include_past and include_future say which runs around dag_run_id are meant: name it")
    with service.database.begin() as connection:
        if body.dag_run_id is not None:
            get_run(connection, dag_id, body.dag_run_id)
        return clear_selected(
            connection,
            service,
            actor,
            _selection(dag_id, body),
            body,
            event="clear_task_instances",
            spares_running=body.prevent_running_task,
            note=body.note,
        )


@router.post("/dagRuns/{dag_run_id}/clear")
def clear_dag_run(
    dag_id: DagId, dag_run_id: RunId, body: ClearRunBody, actor: ActorOf, service: ServiceOf
) -> ClearedShape | RunShape:
    """Clear the task instances of one run: all of them, or the failed ones. A dry run lists them; else the run."""
    selection = Selection(dag_id=dag_id, run_id=dag_run_id, only_failed=body.only_failed)
    with service.database.begin() as connection:
        get_run(connection, dag_id, dag_run_id)
        cleared = clear_selected(connection, service, actor, selection, body, event="clear_dag_run")
        if body.dry_run:
            return cleared
        if body.note is not None:
            set_run_note(connection, dag_id, dag_run_id, body.note)
        return run_shape(get_run(connection, dag_id, dag_run_id))


def _selection(dag_id: str, body: ClearBody) -> Selection:
    """Return what is meant; indexes narrow the named tasks only, what is up or down stream of them is meant whole."""
    references = body.task_ids or []
    whole = {one for one in references if isinstance(one, str)}
    indexes: dict[str, set[int]] = {}
    for one in references:
        if not isinstance(one, str) and one[0] not in whole:
            indexes.setdefault(one[0], set()).add(one[1])
    return Selection(
        dag_id=dag_id,
        run_id=body.dag_run_id,
        start_date=body.start_date,
        end_date=body.end_date,
        only_failed=body.only_failed,
        only_running=body.only_running,
        include_past=body.include_past,
        include_future=body.include_future,
        include_upstream=body.include_upstream,
        include_downstream=body.include_downstream,
        task_ids=None if body.task_ids is None else tuple(sorted(whole | set(indexes))),
        indexes_of=indexes,
    )


def _refuse_running(meant: Plan) -> None:
    running = [one for one in meant.all_cleared if one["state"] == TaskState.RUNNING]
    if running:
        raise ConflictError(
            f"task {shown(running[0]['task_id'])} of run {shown(running[0]['run_id'])} is running; wait for its end, "
            "or clear without prevent_running_task to end it"
        )


class How(Protocol):
    """How to clear what is selected: every body of a clear says this."""

    dry_run: bool
    run_on_latest_version: bool | None


def clear_selected(
    connection: Connection,
    service: Service,
    actor: Actor,
    selection: Selection,
    how: How,
    *,
    event: str,
    spares_running: bool = False,
    note: str | None = None,
) -> ClearedShape:
    """Clear ``selection`` or show what would be cleared, record it as ``event``, and put ``note`` on the instances.

    Raises:
        ConflictError: with ``spares_running``, something that is meant is running.
    """
    now = service.now()
    done = clear(
        connection,
        selection,
        latest=how.run_on_latest_version,
        default=service.settings.rerun_with_latest_version,
        dry_run=how.dry_run,
        now=now,
    )
    if spares_running:
        # Asked of what was cleared, not beforehand: a task may start at this moment. The refusal takes it all back.
        _refuse_running(done)
    changes = done.changes
    if done and not how.dry_run:
        audit.record(
            connection,
            actor=actor.username,
            event=event,
            dag_id=selection.dag_id,
            run_id=selection.run_id,
            detail={"instances": len(changes), "tasks": sorted({row["task_id"] for row in changes})},
            now=now,
        )
    if note is not None and not how.dry_run:
        set_notes(connection, done.cleared, note)
    rows = rows_by_id(connection, [(row["id"], row["month"]) for row in done.all_cleared])
    return {
        "task_instances": [instance_shape(row) for row in rows],
        "total_entries": len(rows),
        "changes": [change_shape(one) for one in changes],
    }
