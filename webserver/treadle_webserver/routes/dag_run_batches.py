"""Many runs at once: a list asked for with a body, edits with a report of each, and clearing several runs."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import AwareDatetime, Field
from sqlalchemy import Connection

from treadle.assets import LONGEST_PARTITION_KEY
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.notes import set_run_note
from treadle_metadata.queries import runs as queries
from treadle_metadata.queries.conditions import Between
from treadle_metadata.queries.paging import Page, PageRequest
from treadle_metadata.selecting import Selection
from treadle_webserver.authorize import ActorOf
from treadle_webserver.bulk import Acts, BulkBody, BulkShape, Mask, carry_out
from treadle_webserver.parameters import (
    ALL,
    BatchBody,
    DagId,
    Note,
    RunStateName,
    StrictBody,
    Text,
    Texts,
    cursors,
    one_or_all,
)
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.clearing import clear_selected
from treadle_webserver.routes.dag_runs import change_run, remove_run
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.operations import ClearedShape
from treadle_webserver.shapes.runs import RunListShape, run_shape

router = APIRouter(prefix="/api/v2/dags/{dag_id}", tags=["DagRun"], route_class=RetriedRoute)

MOST_RUNS = 1000
RunName = Annotated[str, Field(max_length=250)]


class RunsBatchBody(BatchBody):
    """Which runs, of any DAGs."""

    dag_ids: Texts | None = None
    states: Annotated[list[RunStateName | None], Field(max_length=10)] | None = None
    conf_contains: Text = None

    def wanted(self, dag_id: str | None) -> queries.RunFilter:
        """Return the filter."""
        return queries.RunFilter(
            dag_id=dag_id,
            dag_ids=self.dag_ids or (),
            states=[one for one in self.states or () if one is not None],
            conf_contains=self.conf_contains,
            run_after=self.between("run_after"),
            logical_date=self.between("logical_date"),
            started=self.between("start_date"),
            ended=self.between("end_date"),
            duration=self.between("duration"),
        )


class BulkRunBody(StrictBody):
    """One run and what to set of it. ``dag_id`` may be left out where the address names the DAG."""

    dag_id: Annotated[str, Field(max_length=250)] | None = None
    dag_run_id: RunName
    state: Literal["queued", "success", "failed"] | None = None
    note: Note = None


class ClearRunsBody(StrictBody):
    """Which runs to clear: those listed, or those of a partition. By default nothing is changed, only listed."""

    dag_runs: Annotated[list[BulkRunBody], Field(max_length=MOST_RUNS)] | None = None
    partition_key: Annotated[str, Field(max_length=LONGEST_PARTITION_KEY)] | None = None
    partition_date_start: AwareDatetime | None = None
    partition_date_end: AwareDatetime | None = None
    dry_run: bool = True
    only_failed: bool = False
    only_new: Literal[False] = False
    run_on_latest_version: bool | None = None
    note: Note = None


@router.post("/dagRuns/list")
def get_list_dag_runs_batch(dag_id: DagId, body: RunsBatchBody, service: ServiceOf) -> RunListShape:
    """List runs of many DAGs; the ids stand in the body, and ``~`` in the address."""
    with service.database.begin() as connection:
        page = queries.list_runs(connection, body.wanted(one_or_all(dag_id)), body.page)
    return {"dag_runs": [run_shape(row) for row in page.rows], **cursors(page)}


@router.patch("/dagRuns")
def bulk_dag_runs(dag_id: DagId, body: BulkBody[BulkRunBody], actor: ActorOf, service: ServiceOf) -> BulkShape:
    """Set state or note of runs, or delete them, each on its own; the answer tells of each."""

    def update(connection: Connection, one: BulkRunBody, mask: Mask) -> None:
        given = one.model_dump(include={"state", "note"} & one.model_fields_set)
        wanted = {name: value for name, value in given.items() if mask is None or name in mask}
        change_run(connection, service, actor, _dag_of(dag_id, one), one.dag_run_id, wanted)

    def delete(connection: Connection, one: str | BulkRunBody) -> None:
        run = BulkRunBody(dag_run_id=one) if isinstance(one, str) else one
        remove_run(connection, service, actor, _dag_of(dag_id, run), run.dag_run_id)

    acts: Acts[BulkRunBody] = Acts(
        key=lambda one: f"{one.dag_id or dag_id}.{one.dag_run_id}", update=update, delete=delete
    )
    with service.database.begin() as connection:
        return carry_out(connection, body, acts)


@router.post("/clearDagRuns")
def clear_dag_runs(
    dag_id: DagId, body: ClearRunsBody, actor: ActorOf, service: ServiceOf
) -> ClearedShape | RunListShape:
    """Clear several runs of one DAG, wholly or what failed of them. A dry run lists the instances; else the runs."""
    if dag_id == ALL:
        raise InvalidRequestError("clearing needs one DAG: name it in the address instead of '~'")
    with service.database.begin() as connection:
        run_ids = _meant(connection, dag_id, body)
        selection = Selection(dag_id=dag_id, run_ids=tuple(run_ids), only_failed=body.only_failed)
        cleared = clear_selected(connection, service, actor, selection, body, event="clear_dag_runs")
        if body.dry_run:
            return cleared
        return _noted(connection, dag_id, run_ids, body.note)


def _dag_of(dag_id: str, one: BulkRunBody) -> str:
    if dag_id == ALL and one.dag_id is None:
        raise InvalidRequestError(
            f"which DAG is run {one.dag_run_id!r} of? Expected dag_id beside it, or in the address"
        )
    if dag_id not in {ALL, one.dag_id or dag_id}:
        raise InvalidRequestError(
            f"run {one.dag_run_id!r} is said to be of DAG {one.dag_id!r}, the address names {dag_id!r}"
        )
    return one.dag_id or dag_id


def _meant(connection: Connection, dag_id: str, body: ClearRunsBody) -> list[str]:
    if body.dag_runs is not None:
        for one in body.dag_runs:
            queries.get_run(connection, _dag_of(dag_id, one), one.dag_run_id)
        return [one.dag_run_id for one in body.dag_runs]
    dates = Between(gte=body.partition_date_start, lte=body.partition_date_end)
    if body.partition_key is None and dates == Between():
        raise InvalidRequestError("which runs? Expected dag_runs, partition_key, or partition_date_start and _end")
    wanted = queries.RunFilter(dag_id=dag_id, partition_key=body.partition_key, partition_date=dates)
    page = queries.list_runs(connection, wanted, PageRequest(limit=MOST_RUNS))
    if page.next_cursor is not None:
        raise InvalidRequestError(f"these are more than {MOST_RUNS} runs: clear them in several requests")
    return [row["run_id"] for row in page.rows]


def _noted(connection: Connection, dag_id: str, run_ids: list[str], note: str | None) -> RunListShape:
    if not run_ids:
        return {"dag_runs": [], **cursors(Page(rows=[], total=0))}
    if note is not None:
        for run_id in run_ids:
            set_run_note(connection, dag_id, run_id, note)
    wanted = queries.RunFilter(dag_id=dag_id, run_ids=run_ids)
    page = queries.list_runs(connection, wanted, PageRequest(limit=MOST_RUNS))
    return {"dag_runs": [run_shape(row) for row in page.rows], **cursors(page)}
