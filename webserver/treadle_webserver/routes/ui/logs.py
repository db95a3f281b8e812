"""A window of a task's log by line number: what the log page shows, however long the log is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from treadle_metadata.queries import logs
from treadle_metadata.queries.log_windows import read_window
from treadle_metadata.remote_logs.places import places_of
from treadle_webserver.parameters import DagId, MapIndexQuery, RunId, TaskId, TryNumber
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.log_lines import LogWindowShape, numbered_line_shape

router = APIRouter(prefix="/ui/dags/{dag_id}/runs/{run_id}/tasks/{task_id}", tags=["UI"], route_class=RetriedRoute)


@router.get("/logs/{try_number}")
def get_ui_log(
    dag_id: DagId,
    run_id: RunId,
    task_id: TaskId,
    try_number: TryNumber,
    service: ServiceOf,
    first: Annotated[int | None, Query(ge=0, le=2**62, description="Line to begin with; the last ones without")] = None,
    count: Annotated[int, Query(ge=1, le=5000)] = 500,
    map_index: MapIndexQuery = -1,
) -> LogWindowShape:
    """Return ``count`` lines of an attempt's log from line ``first`` on, or its last ones, and what all of it holds."""
    logs.require_try(try_number)
    with service.database.begin() as connection:
        found = logs.find_log(connection, dag_id, run_id, task_id, map_index, try_number)
    file = places_of(service.settings).find(found.stored, found.month)
    window = read_window(file, found.stored, service.line_indexes, first, count)
    return {
        "first": window.first,
        "lines": [numbered_line_shape(window.first + at, line) for at, line in enumerate(window.lines)],
        "total": window.total,
        "bytes": window.size,
        "counts": window.counts,
        "is_over": found.is_over,
        "message": None if window.total else logs.why_empty(file, found.attempt),
    }
