"""What was called for a run, with its log, and which deadlines the run has."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from treadle_metadata.queries import callbacks as queries
from treadle_metadata.queries import logs
from treadle_metadata.remote_logs.places import places_of
from treadle_webserver.parameters import DagId, RowId, RunId
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.logs import LogShape
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.callbacks import CallbackListShape, DeadlineListShape, callback_shape, deadline_shape
from treadle_webserver.shapes.log_lines import line_shape

router = APIRouter(
    prefix="/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}",
    tags=["DagRun"],
    route_class=RetriedRoute,
)


@router.get("/callbacks")
def get_callbacks(dag_id: DagId, dag_run_id: RunId, service: ServiceOf) -> CallbackListShape:
    """List what the server has called for a run: at its end, of attempts that could not tell, of missed deadlines."""
    with service.database.begin() as connection:
        shapes = [callback_shape(row) for row in queries.callbacks_of_run(connection, dag_id, dag_run_id)]
    return {"callbacks": shapes, "total_entries": len(shapes)}


@router.get("/callbacks/{callback_id}/log")
def get_callback_log(
    dag_id: DagId,
    dag_run_id: RunId,
    callback_id: RowId,
    service: ServiceOf,
    tail: Annotated[int, Query(ge=0, le=100_000, description="Only the last lines")] = 1000,
) -> LogShape:
    """Return the end of a callback's log."""
    with service.database.begin() as connection:
        found = queries.get_callback(connection, callback_id, dag_id=dag_id, run_id=dag_run_id)
    if found["log_path"] is None:
        return {"content": [], "continuation_token": None, "message": "the callback was not handed over yet"}
    chunk = logs.read_tail(places_of(service.settings).find(found["log_path"], found["month"]), tail)
    return {"content": [line_shape(line) for line in chunk.lines], "continuation_token": None}


@router.get("/deadlines")
def get_deadlines(dag_id: DagId, dag_run_id: RunId, service: ServiceOf) -> DeadlineListShape:
    """List the deadlines of a run that it has still to keep or has missed; those that it kept are gone."""
    with service.database.begin() as connection:
        shapes = [deadline_shape(row) for row in queries.deadlines_of_run(connection, dag_id, dag_run_id)]
    return {"deadlines": shapes, "total_entries": len(shapes)}
