"""Waiting for a run to end: lines of JSON while it goes on, at the end with what chosen tasks returned (case H3).

``wait_dag_run_until_finished`` waits for a run that is there, ``streamed`` also serves ``POST .../dagRuns?wait=true``.
A waiting request holds neither a thread nor a connection: the hub of live events tells it when its run has changed, and
the interval is only a safety net. A crash, or a server that stops, ends the answer without its last line; asking again
goes on.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from treadle.xcom import to_plain
from treadle_metadata.errors import ConflictError, MetadataError
from treadle_metadata.queries.runs import get_run
from treadle_metadata.queries.surrogates import may_hold_halves, without_halves
from treadle_metadata.queries.xcoms import returned_values
from treadle_metadata.rights.permissions import Permission
from treadle_metadata.states import FINISHED_RUNS
from treadle_webserver.authorize import Actor, ActorOf, may_still, scope_for
from treadle_webserver.live.hub import Hub
from treadle_webserver.live.ring import Told
from treadle_webserver.parameters import DagId, RunId
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf

router = APIRouter(prefix="/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}", tags=["DagRun"], route_class=RetriedRoute)

NDJSON: Final = "application/x-ndjson"
UNBUFFERED: Final = {"X-Accel-Buffering": "no"}
"""Tells proxies to hand each line on as it comes."""
Interval = Annotated[float, Query(ge=0.05, le=3600, description="Longest time between two lines, in seconds")]
Result = Annotated[
    list[Annotated[str, Query(max_length=500)]],
    Query(max_length=100, description="Tasks whose return values the last line holds; needs the right to read XComs"),
]


@router.get(
    "/wait",
    response_class=StreamingResponse,
    responses={200: {"description": "Lines of JSON until the run has ended", "content": {NDJSON: {}}}},
)
async def wait_dag_run_until_finished(
    request: Request,
    dag_id: DagId,
    dag_run_id: RunId,
    actor: ActorOf,
    service: ServiceOf,
    interval: Interval = 1.0,
    result: Result = [],  # noqa: B006 - FastAPI copies it
) -> StreamingResponse:
    """Stream the run's state as lines of JSON until it is success or failed.

    The last line holds ``results``: what the tasks named by ``result`` returned, a list of a mapped one.
    """
    first = await run_in_threadpool(_begin, service, actor, dag_id, dag_run_id, result)
    return streamed(request, service, (dag_id, dag_run_id), first, interval, result)


def require_results(service: Service, actor: Actor, dag_id: str, result: Sequence[str]) -> None:
    """Check that who asks may read the XComs of the DAG, if results are asked for.

    Raises:
        NotFoundError: the account may not see the DAG.
        HTTPException: 403, it may not read XComs.
    """
    if result:
        with service.whole_database.begin() as connection:
            scope_for(connection, service, actor.rights, Permission.READ_XCOMS, dag_id)


def streamed(
    request: Request,
    service: Service,
    name: tuple[str, str],
    first: dict[str, Any],
    interval: float,
    result: Sequence[str],
) -> StreamingResponse:
    """Answer with the line ``first``, then one whenever the state changes or ``interval`` has passed, until the end.

    ``name``: DAG and run.
    """
    lines = _lines(request, service, name, first, interval, result)
    return StreamingResponse(lines, media_type=NDJSON, headers=UNBUFFERED)


async def _lines(
    request: Request,
    service: Service,
    name: tuple[str, str],
    first: dict[str, Any],
    interval: float,
    result: Sequence[str],
) -> AsyncIterator[str]:
    hub: Hub = request.app.state.live
    yield _line(first)
    state, told_at = first["state"], time.monotonic()
    if state in FINISHED_RUNS:
        return
    hub.join()
    try:
        # What changed before it was heard of is seen by the first look.
        number, may_differ = hub.ring.newest, True
        while state not in FINISHED_RUNS and not hub.is_closed:
            if may_differ:
                found = await run_in_threadpool(_look_again, request, service, *name, result)
                if found["state"] != state or time.monotonic() - told_at >= interval:
                    yield _line(found)
                    state, told_at = found["state"], time.monotonic()
            heard = state not in FINISHED_RUNS and await hub.changed(
                number, max(0.0, told_at + interval - time.monotonic())
            )
            newest = hub.ring.newest
            may_differ = not heard or _concerns(hub.ring.after(number), *name)
            number = newest
    except MetadataError as error:
        yield _line({"state": None, "error": str(error)})
    finally:
        hub.leave()


def _concerns(told: Sequence[Told] | None, dag_id: str, run_id: str) -> bool:
    """Tell whether what was told (None: something was missed) may be about a run."""
    if told is None:
        return True
    return any(
        one.dags is None or dag_id in one.dags or any((run.dag_id, run.run_id) == (dag_id, run_id) for run in one.runs)
        for one in told
    )


def _begin(service: Service, actor: Actor, dag_id: str, run_id: str, result: Sequence[str]) -> dict[str, Any]:
    require_results(service, actor, dag_id, result)
    return _look(service, dag_id, run_id, result)


def _look_again(request: Request, service: Service, dag_id: str, run_id: str, result: Sequence[str]) -> dict[str, Any]:
    if not may_still(request):
        raise ConflictError("the session or token is over, or may no more: log in again")
    return _look(service, dag_id, run_id, result)


def _look(service: Service, dag_id: str, run_id: str, result: Sequence[str]) -> dict[str, Any]:
    with service.database.begin() as connection:
        run = get_run(connection, dag_id, run_id)
        if run["state"] not in FINISHED_RUNS or not result:
            return {"state": run["state"]}
        values = returned_values(connection, run, result)
    return {"state": run["state"], "results": {task: _plain(found) for task, found in values.items()}}


def _plain(found: Sequence[tuple[int, str]]) -> Any:
    """Return what a task returned: one value, or of a mapped task the list of its instances' values."""
    values = [_shown(text) for _, text in found]
    return values[0] if len(found) == 1 and found[0][0] < 0 else values


def _shown(text: str) -> Any:
    value = to_plain(text)
    return without_halves(value) if may_hold_halves(text) else value


def _line(content: dict[str, Any]) -> str:
    return json.dumps(content) + "\n"
