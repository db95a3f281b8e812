"""The grid of a DAG, in pages of runs; the live states of one run; its Gantt chart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from treadle_metadata.queries.ui import gantt, run_pages
from treadle_metadata.queries.ui import grid as queries
from treadle_metadata.queries.ui.history import expected_seconds
from treadle_metadata.queries.ui.structures import Row, Structure, version_id_of
from treadle_metadata.states import FINISHED_RUNS
from treadle_webserver.parameters import DagId, Moment, RunId, RunStateName, Texts
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.ui.walking import WalkQuery
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.times import utc
from treadle_webserver.shapes.ui.runs import (
    GanttShape,
    GridShape,
    RunStatesShape,
    bar_shape,
    cells_shape,
    expected_end,
    grid_row_shape,
    grid_run_shape,
)

router = APIRouter(prefix="/ui/dags/{dag_id}", tags=["UI"], route_class=RetriedRoute)


class GridQuery(WalkQuery):
    """Which runs of the grid, and in whose version's order its rows stand (the newest without ``version_number``)."""

    limit: int = Field(25, ge=1, le=400)
    state: Annotated[list[RunStateName], Field(max_length=10)] = []
    run_type: Texts = []
    version_number: int | None = Field(None, ge=1, le=2**31 - 1)
    run_id: Texts = []
    """Only these runs: what the live stream said has changed."""
    until: Moment = None
    """Only runs with an earlier ``run_after``: where in the past the newest column stands."""


@router.get("/grid")
def get_ui_grid(dag_id: DagId, query: Annotated[GridQuery, Query()], service: ServiceOf) -> GridShape:
    """Return a page of runs with the states of all tasks and groups."""
    with service.database.begin() as connection:
        version_id = version_id_of(connection, dag_id, query.version_number)
        structure = service.structures.get(connection, version_id)
        page = queries.list_runs(
            connection,
            dag_id,
            query.page(),
            states=query.state,
            run_types=query.run_type,
            run_ids=query.run_id,
            until=query.until,
        )
        cells = queries.states(connection, [(run["id"], run["month"]) for run in page.rows])
    groups_of = structure.groups_of
    rows = _rows(structure, cells.values())
    ids = [row["id"] for row in rows]
    return {
        "dag_id": dag_id,
        "version_number": structure.number,
        "rows": rows,
        "runs": [grid_run_shape(run, queries.with_groups(cells[run["id"]], groups_of), ids) for run in page.rows],
        "next_cursor": page.next_cursor,
    }


def _rows(structure: Structure, cells: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Return the rows of the structure, and after them the tasks of older versions that these runs have."""
    known = {row.id for row in structure.rows}
    removed = sorted({task_id for of_run in cells for task_id in of_run if task_id not in known})
    gone = [grid_row_shape(Row(id=one, label=one, kind="task"), is_removed=True) for one in removed]
    return [*(grid_row_shape(row) for row in structure.rows), *gone]


@router.get("/runs/{run_id}/states")
def get_ui_run_states(dag_id: DagId, run_id: RunId, service: ServiceOf) -> RunStatesShape:
    """Return the state of a run and of each task and group in it: what a graph draws over its nodes."""
    with service.database.begin() as connection:
        run = run_pages.get_run(connection, dag_id, run_id)
        structure = service.structures.get(connection, run["version_id"])
        cells = queries.cells(connection, (run["id"], run["month"]))
    return {
        "dag_id": dag_id,
        "run_id": run_id,
        "state": run["state"],
        "started_at": utc(run["started_at"]),
        "ended_at": utc(run["ended_at"]),
        "version_number": run["version_number"],
        "tasks": cells_shape(queries.with_groups(cells, structure.groups_of)),
    }


@router.get("/runs/{run_id}/gantt")
def get_ui_gantt(dag_id: DagId, run_id: RunId, service: ServiceOf) -> GanttShape:
    """Return every attempt of a run with its times, and the run's critical path."""
    with service.database.begin() as connection:
        run = run_pages.get_run(connection, dag_id, run_id)
        structure = service.structures.get(connection, run["version_id"])
        found, is_truncated = gantt.attempts(connection, run)
        expected = None
        if run["state"] not in FINISHED_RUNS:
            expected = expected_seconds(connection, dag_id, before=run["run_after"])
    return {
        "dag_id": dag_id,
        "run_id": run_id,
        "state": run["state"],
        "version_number": run["version_number"],
        "queued_at": utc(run["queued_at"]),
        "started_at": utc(run["started_at"]),
        "ended_at": utc(run["ended_at"]),
        "bars": [bar_shape(row) for row in found],
        "rows": _rows(structure, [{row["task_id"]: None for row in found}]),
        "critical_path": gantt.critical_path(found, structure.upstream),
        "is_truncated": is_truncated,
        "expected_end_at": expected_end(run, expected),
    }
