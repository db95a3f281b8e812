"""The times of a DAG's schedule that became no run (case A65)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from treadle_metadata.queries.missed_times import missed_times
from treadle_webserver.parameters import DagId
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.times import utc

router = APIRouter(prefix="/api/v2/dags/{dag_id}", tags=["DAG"], route_class=RetriedRoute)


class MissedTimeShape(TypedDict):
    """One time, or many in a row from ``run_after`` to ``last_run_after``; ``times`` is null if nobody counted."""

    run_after: datetime | None
    last_run_after: datetime | None
    logical_date: datetime | None
    times: int | None
    reason: str
    noticed_at: datetime | None


class MissedTimeListShape(TypedDict):
    """The newest ones."""

    missed_times: list[MissedTimeShape]


@router.get("/missedTimes")
def get_missed_times(
    dag_id: DagId, service: ServiceOf, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> MissedTimeListShape:
    """List the times of a DAG's schedule that became no run, the newest first, each with its reason."""
    with service.database.begin() as connection:
        found = missed_times(connection, dag_id, most=limit)
    return {
        "missed_times": [
            {
                "run_after": utc(row["run_after"]),
                "last_run_after": utc(row["last_run_after"]),
                "logical_date": utc(row["logical_date"]),
                "times": row["slots"],
                "reason": row["reason"],
                "noticed_at": utc(row["noticed_at"]),
            }
            for row in found
        ]
    }
