"""Waiting for a run to end: one JSON line for each look, until it is finished."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from treadle_metadata.queries.runs import get_run
from treadle_metadata.states import FINISHED_RUNS
from treadle_webserver.parameters import DagId, RunId
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf

router = APIRouter(prefix="/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}", tags=["DagRun"], route_class=RetriedRoute)


@router.get("/wait", response_class=StreamingResponse)
async def wait_dag_run_until_finished(
    dag_id: DagId,
    dag_run_id: RunId,
    service: ServiceOf,
    interval: Annotated[float, Query(ge=0.05, le=3600, description="Seconds between two looks")] = 1.0,
) -> StreamingResponse:
    """Stream the run's state as ndjson until it is success or failed."""
    first = await run_in_threadpool(_state, service, dag_id, dag_run_id)
    lines = _lines(service, dag_id, dag_run_id, first, interval)
    return StreamingResponse(lines, media_type="application/x-ndjson")


async def _lines(service: Service, dag_id: str, run_id: str, state: str, interval: float) -> AsyncIterator[str]:
    yield _line({"state": state})
    while state not in FINISHED_RUNS:
        await asyncio.sleep(interval)
        state = await run_in_threadpool(_state, service, dag_id, run_id)
        yield _line({"state": state})


def _state(service: Service, dag_id: str, run_id: str) -> str:
    with service.database.begin() as connection:
        return str(get_run(connection, dag_id, run_id)["state"])


def _line(content: dict[str, Any]) -> str:
    return json.dumps(content) + "\n"
