"""The list of runs over all DAGs, and one run with why it does not go on."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from treadle_metadata.queries import why
from treadle_metadata.queries.ui import run_pages as queries
from treadle_metadata.queries.ui.history import expected_seconds
from treadle_metadata.states import FINISHED_RUNS
from treadle_webserver.parameters import DagId, Moment, RunId, RunStateName, Text, Texts
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.ui.walking import WalkQuery
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.ui.runs import RunRowsShape, RunShape, run_row_shape, run_shape
from treadle_webserver.shapes.why import why_shape

router = APIRouter(prefix="/ui", tags=["UI"], route_class=RetriedRoute)


class RunSearchQuery(WalkQuery):
    """Which runs; ``search`` is a part of the DAG's id or the run's, ``since`` and ``until`` are of ``run_after``."""

    dag_id: Text = None
    state: Annotated[list[RunStateName], Field(max_length=10)] = []
    run_type: Texts = []
    search: Text = None
    since: Moment = None
    until: Moment = None
    ended_since: Moment = None
    triggering_user: Text = None

    @property
    def wanted(self) -> queries.RunSearch:
        """The filter."""
        return queries.RunSearch(
            dag_id=self.dag_id,
            states=self.state,
            run_types=self.run_type,
            text=self.search,
            since=self.since,
            until=self.until,
            ended_since=self.ended_since,
            user=self.triggering_user,
        )


@router.get("/runs")
def get_ui_runs(query: Annotated[RunSearchQuery, Query()], service: ServiceOf) -> RunRowsShape:
    """Return a page of runs over all DAGs, the newest first."""
    with service.database.begin() as connection:
        page = queries.list_runs(connection, query.wanted, query.page())
    return {
        "runs": [run_row_shape(row) for row in page.rows],
        "total": page.total,
        "is_total_capped": page.capped,
        "next_cursor": page.next_cursor,
    }


@router.get("/dags/{dag_id}/runs/{run_id}")
def get_ui_run(dag_id: DagId, run_id: RunId, service: ServiceOf) -> RunShape:
    """Return one run: its facts, its neighbours, its tasks by state, and why it does not go on."""
    now = service.now()
    with service.database.begin() as connection:
        row = queries.get_run(connection, dag_id, run_id)
        around = queries.neighbours(connection, row)
        found, expected = None, None
        if row["state"] not in FINISHED_RUNS:
            expected = expected_seconds(connection, dag_id, before=row["run_after"])
            found = why.why_is_run_not_running(connection, dag_id, run_id, now=now, settings=service.settings)
    return run_shape(row, around, None if found is None else why_shape(found), expected)
