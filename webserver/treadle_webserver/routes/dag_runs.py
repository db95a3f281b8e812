"""Runs: list, one, trigger, set state or note, delete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import AwareDatetime, Field
from sqlalchemy import Connection

from treadle.assets import LONGEST_PARTITION_KEY
from treadle_metadata import audit
from treadle_metadata.deletion import delete_run
from treadle_metadata.marking import mark_run
from treadle_metadata.notes import checked_note, set_run_note
from treadle_metadata.queries import runs as queries
from treadle_metadata.queries.dags import check_dag
from treadle_metadata.queries.paging import Page
from treadle_metadata.runs import checked_interval, lock_run, trigger_run
from treadle_webserver.authorize import Actor, ActorOf
from treadle_webserver.etags import IfMatch, require_match, tag
from treadle_webserver.parameters import (
    DagId,
    EndOfDay,
    Moment,
    Note,
    Numbers,
    RunDatesQuery,
    RunId,
    RunStateName,
    StrictBody,
    Text,
    Texts,
    cursors,
    one_or_all,
)
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.waiting import NDJSON, Interval, Result, require_results, streamed
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.runs import RunListShape, RunShape, run_shape

router = APIRouter(prefix="/api/v2/dags/{dag_id}/dagRuns", tags=["DagRun"], route_class=RetriedRoute)


class RunQuery(RunDatesQuery):
    """Which runs. ``conf_contains``: a JSON object that the conf contains, or a part of its text."""

    state: Annotated[list[RunStateName], Field(max_length=10)] = []
    run_type: Texts = []
    dag_version: Numbers = []
    run_id_pattern: Text = None
    run_id_prefix_pattern: Text = None
    dag_id_pattern: Text = None
    dag_id_prefix_pattern: Text = None
    triggering_user_name_pattern: Text = None
    triggering_user_name_prefix_pattern: Text = None
    partition_key_pattern: Text = None
    partition_key_prefix_pattern: Text = None
    partition_date_gte: Moment = None
    partition_date_lte: EndOfDay = None
    conf_contains: Text = None
    consuming_asset_pattern: Text = None

    def wanted(self, dag_id: str) -> queries.RunFilter:
        """Return the filter, for one DAG or all."""
        return queries.RunFilter(
            dag_id=one_or_all(dag_id),
            states=self.state,
            run_types=self.run_type,
            version_numbers=self.dag_version,
            run_id_pattern=self.run_id_pattern,
            run_id_prefix=self.run_id_prefix_pattern,
            dag_id_pattern=self.dag_id_pattern,
            dag_id_prefix=self.dag_id_prefix_pattern,
            user_pattern=self.triggering_user_name_pattern,
            user_prefix=self.triggering_user_name_prefix_pattern,
            partition_pattern=self.partition_key_pattern,
            partition_prefix=self.partition_key_prefix_pattern,
            conf_contains=self.conf_contains,
            asset_pattern=self.consuming_asset_pattern,
            run_after=self.between("run_after"),
            logical_date=self.between("logical_date"),
            started=self.between("start_date"),
            ended=self.between("end_date"),
            changed=self.between("updated_at"),
            partition_date=self.between("partition_date"),
            duration=self.between("duration"),
        )


class TriggerBody(StrictBody):
    """A run to make. ``logical_date`` may be left out or null: the run has none then."""

    dag_run_id: str | None = Field(None, max_length=1000)
    logical_date: AwareDatetime | None = None
    data_interval_start: AwareDatetime | None = None
    data_interval_end: AwareDatetime | None = None
    run_after: AwareDatetime | None = None
    conf: dict[str, Any] | None = None
    note: Note = None
    partition_key: str | None = Field(None, max_length=LONGEST_PARTITION_KEY)

    def arguments(self, service: Service, actor: Actor) -> dict[str, Any]:
        """Return what ``runs.trigger_run`` takes besides the DAG, of this body and of who asks.

        Raises:
            InvalidRequestError: the data interval or the note cannot be used.
        """
        return {
            "run_id": self.dag_run_id,
            "logical_date": self.logical_date,
            "data_interval": checked_interval(self.data_interval_start, self.data_interval_end),
            "run_after": self.run_after,
            "conf": self.conf,
            "note": checked_note(self.note),
            "partition_key": self.partition_key,
            "triggered_by": "rest_api",
            "user": actor.username,
            "cron_style": service.settings.cron_style,
            "now": service.now(),
        }


class TriggeredRunShape(RunShape):
    """A run that was made. ``conf_warnings``, Treadle's own: keys of its conf that nearly name a param."""

    conf_warnings: list[str]


class RunPatch(StrictBody):
    """What can be changed of a run."""

    state: Literal["queued", "success", "failed"] | None = None
    note: Note = None


UpdateMask = Annotated[list[Literal["state", "note"]] | None, Query(max_length=2)]


@router.get("")
def get_dag_runs(dag_id: DagId, query: Annotated[RunQuery, Query()], service: ServiceOf) -> RunListShape:
    """List runs of a DAG (``~``: of all DAGs), by default the newest first."""

    def read(connection: Connection) -> Page:
        if one_or_all(dag_id) is not None:
            check_dag(connection, dag_id)
        return queries.list_runs(connection, query.wanted(dag_id), query.page)

    page = service.database.run_each(read)
    return {"dag_runs": [run_shape(row) for row in page.rows], **cursors(page)}


@router.post(
    "",
    response_model=TriggeredRunShape,
    responses={200: {"description": "The run; with `wait`, lines of JSON until it has ended", "content": {NDJSON: {}}}},
)
def trigger_dag_run(
    request: Request,
    dag_id: DagId,
    body: TriggerBody,
    actor: ActorOf,
    service: ServiceOf,
    wait: bool = False,
    interval: Interval = 1.0,
    result: Result = [],  # noqa: B006 - FastAPI copies it
) -> Response | TriggeredRunShape:
    """Make a run of a DAG.

    With ``wait`` the answer is lines of JSON: the first holds ``dag_run_id``, then states until the run has ended; the
    last one holds ``results``, what the tasks named by ``result`` returned.
    """
    require_results(service, actor, dag_id, result)
    run = _triggered(dag_id, body, actor, service)
    if not wait:
        return {**run_shape(run), "conf_warnings": run["conf_warnings"]}
    first = {"state": run["state"], "dag_run_id": run["run_id"]}
    return streamed(request, service, (dag_id, run["run_id"]), first, interval, result)


def _triggered(dag_id: str, body: TriggerBody, actor: Actor, service: Service) -> dict[str, Any]:
    arguments = body.arguments(service, actor)
    with service.database.begin() as connection:
        made = trigger_run(connection, dag_id, **arguments)
        detail = {"conf": body.conf} if body.conf else None
        audit.record(
            connection,
            actor=actor.username,
            event="trigger_dag_run",
            dag_id=dag_id,
            run_id=made["run_id"],
            detail=detail,
            now=arguments["now"],
        )
        return queries.with_names(connection, made)


@router.get("/{dag_run_id}")
def get_dag_run(dag_id: DagId, dag_run_id: RunId, service: ServiceOf, response: Response) -> RunShape:
    """Return one run."""
    with service.database.begin() as connection:
        run = queries.get_run(connection, dag_id, dag_run_id)
    tag(response, *_facts(run))
    return run_shape(run)


@router.patch("/{dag_run_id}")
def patch_dag_run(
    dag_id: DagId,
    dag_run_id: RunId,
    body: RunPatch,
    actor: ActorOf,
    service: ServiceOf,
    response: Response,
    update_mask: UpdateMask = None,
    if_match: IfMatch = None,
) -> RunShape:
    """Set the state or the note of a run."""
    given = body.model_dump(exclude_unset=True)
    given = {name: value for name, value in given.items() if update_mask is None or name in update_mask}
    with service.database.begin() as connection:
        if if_match is not None:
            require_match(if_match, "run", dag_run_id, *_facts(lock_run(connection, dag_id, dag_run_id)))
        change_run(connection, service, actor, dag_id, dag_run_id, given)
        run = queries.get_run(connection, dag_id, dag_run_id)
    tag(response, *_facts(run))
    return run_shape(run)


@router.delete("/{dag_run_id}", status_code=204, response_class=Response)
def delete_dag_run(
    dag_id: DagId, dag_run_id: RunId, actor: ActorOf, service: ServiceOf, end_first: bool = False
) -> None:
    """Delete a finished run with its task instances; with ``end_first`` (Treadle's own) one under way, too."""
    with service.database.begin() as connection:
        remove_run(connection, service, actor, dag_id, dag_run_id, end_first=end_first)


def change_run(
    connection: Connection, service: Service, actor: Actor, dag_id: str, run_id: str, given: Mapping[str, Any]
) -> None:
    """Set what is ``given`` of a run, state or note or both, and record it.

    Raises:
        NotFoundError: there is no such run.
        ConflictError: the run is in that state already.
    """
    before = queries.get_run(connection, dag_id, run_id)
    if given.get("state") is not None:
        mark_run(connection, dag_id, run_id, given["state"], now=service.now())
    if "note" in given:
        set_run_note(connection, dag_id, run_id, given["note"])
    audit.record(
        connection,
        actor=actor.username,
        event="patch_dag_run",
        dag_id=dag_id,
        run_id=run_id,
        before={name: before[name] for name in given},
        after=given,
        now=service.now(),
    )


def remove_run(
    connection: Connection, service: Service, actor: Actor, dag_id: str, run_id: str, *, end_first: bool = False
) -> None:
    """Delete a run, and record it.

    Raises:
        NotFoundError: there is no such run.
        ConflictError: it is not finished.
    """
    delete_run(connection, dag_id, run_id, end_first=end_first, now=service.now())
    audit.record(
        connection, actor=actor.username, event="delete_dag_run", dag_id=dag_id, run_id=run_id, now=service.now()
    )


def _facts(run: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(run[name] for name in ("id", "state", "ending", "note", "clear_number", "ended_at"))
