"""Clearing: letting task instances of one or several runs run again, or showing which would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import AwareDatetime, Field
from sqlalchemy import Connection

from treadle_metadata import audit
from treadle_metadata.clearing import Selection, clear, selected_tasks
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.queries.runs import get_run
from treadle_metadata.queries.task_instances import rows_by_id
from treadle_metadata.runs import newest_version
from treadle_webserver.authorize import Actor, ActorOf
from treadle_webserver.parameters import DagId, RunId, StrictBody
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.runs import ChangedInstancesShape, instance_shape

router = APIRouter(prefix="/api/v2/dags/{dag_id}", tags=["TaskInstance"], route_class=RetriedRoute)

TaskName = Annotated[str, Field(max_length=500)]
TaskReference = TaskName | tuple[TaskName, Annotated[int, Field(ge=-1, le=2**31 - 1)]]


class ClearBody(StrictBody):
    """Which task instances to clear. By default nothing is changed, only listed: ``dry_run`` is true.

    ``task_ids``: ids, or pairs of an id and a map index. ``reset_dag_runs`` is always so: cleared runs go on.
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


class ClearRunBody(StrictBody):
    """How to clear a run. By default nothing is changed, only listed."""

    dry_run: bool = True
    only_failed: bool = False


@router.post("/clearTaskInstances")
def post_clear_task_instances(
    dag_id: DagId, body: ClearBody, actor: ActorOf, service: ServiceOf
) -> ChangedInstancesShape:
    """Clear task instances of a DAG, in one run or in a range of dates."""
    if body.only_failed and body.only_running:
        raise InvalidRequestError("only_failed and only_running exclude each other; set one of them to false")
    if not body.reset_dag_runs:
        raise InvalidRequestError("reset_dag_runs cannot be false: a finished run would never run what was cleared")
    with service.database.begin() as connection:
        if body.dag_run_id is not None:
            get_run(connection, dag_id, body.dag_run_id)
        selections = _selections(connection, dag_id, body)
        return _clear(
            connection, service, actor, dag_id, selections, dry_run=body.dry_run, event="clear_task_instances"
        )


@router.post("/dagRuns/{dag_run_id}/clear")
def clear_dag_run(
    dag_id: DagId, dag_run_id: RunId, body: ClearRunBody, actor: ActorOf, service: ServiceOf
) -> ChangedInstancesShape:
    """Clear the task instances of one run: all of them, or the failed ones."""
    selection = Selection(dag_id=dag_id, run_id=dag_run_id, only_failed=body.only_failed)
    with service.database.begin() as connection:
        get_run(connection, dag_id, dag_run_id)
        return _clear(connection, service, actor, dag_id, [selection], dry_run=body.dry_run, event="clear_dag_run")


def _selections(connection: Connection, dag_id: str, body: ClearBody) -> list[Selection]:
    """Return one selection for the tasks meant as a whole, and one for each task of which single indexes are meant."""
    facts: dict[str, Any] = {
        "dag_id": dag_id,
        "run_id": body.dag_run_id,
        "start_date": body.start_date,
        "end_date": body.end_date,
        "only_failed": body.only_failed,
        "only_running": body.only_running,
    }
    around: dict[str, Any] = {"include_upstream": body.include_upstream, "include_downstream": body.include_downstream}
    if body.task_ids is None:
        return [Selection(**facts)]
    whole = {one for one in body.task_ids if isinstance(one, str)}
    indexes: dict[str, set[int]] = {}
    for one in body.task_ids:
        if not isinstance(one, str) and one[0] not in whole:
            indexes.setdefault(one[0], set()).add(one[1])
    # Indexes narrow the named tasks only: what is up or down stream of them is meant as a whole.
    _, document = newest_version(connection, dag_id)
    named = tuple(sorted(whole | set(indexes)))
    rest = set(selected_tasks(document, Selection(**facts, **around, task_ids=named))) - set(indexes)
    selections = [Selection(**facts, task_ids=tuple(sorted(rest)))] if rest else []
    return selections + [
        Selection(**facts, task_ids=(task_id,), map_indexes=tuple(sorted(listed)))
        for task_id, listed in indexes.items()
    ]


def _clear(
    connection: Connection,
    service: Service,
    actor: Actor,
    dag_id: str,
    selections: Sequence[Selection],
    *,
    dry_run: bool,
    event: str,
) -> ChangedInstancesShape:
    now = service.now()
    found: dict[int, Mapping[str, Any]] = {}
    for selection in selections:
        found |= {row["id"]: row for row in clear(connection, selection, dry_run=dry_run, now=now)}
    if found and not dry_run:
        audit.record(
            connection,
            actor=actor.username,
            event=event,
            dag_id=dag_id,
            run_id=selections[0].run_id,
            detail={"instances": len(found), "tasks": sorted({row["task_id"] for row in found.values()})},
            now=now,
        )
    rows = rows_by_id(connection, [(row["id"], row["month"]) for row in found.values()])
    return {"task_instances": [instance_shape(row) for row in rows], "total_entries": len(rows)}
