"""Task logs: as JSON with a token to read on with, or streamed as ndjson; from the start or only the tail."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any, NotRequired

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from typing_extensions import TypedDict

from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.queries import logs as queries
from treadle_metadata.remote_logs.places import LogFile, places_of
from treadle_webserver.parameters import DagId, MapIndexQuery, RunId, TaskId, TryNumber
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.log_lines import line_shape

router = APIRouter(
    prefix="/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}/logs",
    tags=["TaskInstance"],
    route_class=RetriedRoute,
)

NDJSON = "application/x-ndjson"


class LogShape(TypedDict):
    """Lines of a log. ``continuation_token`` is null when there is no more now; it is never needed to be understood.

    ``message`` is there only where the log has no line at all: it says why.
    """

    content: list[dict[str, Any]]
    continuation_token: str | None
    message: NotRequired[str]


@router.get("/{try_number}", response_model=LogShape)
def get_log(
    request: Request,
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    try_number: TryNumber,
    service: ServiceOf,
    map_index: MapIndexQuery = -1,
    full_content: bool = False,
    token: Annotated[str | None, Query(max_length=40)] = None,
    tail: Annotated[int | None, Query(ge=0, le=100_000, description="Only the last lines")] = None,
) -> Response | LogShape:
    """Return an attempt's log.

    As JSON at most about 1 MiB at once, read on with ``token``; ``full_content`` gives all of it. With the header
    ``Accept: application/x-ndjson`` all lines are streamed.
    """
    queries.require_try(try_number)
    with service.database.begin() as connection:
        log = queries.find_log(connection, dag_id, dag_run_id, task_id, map_index, try_number)
    path = places_of(service.settings).find(log.stored, log.month)
    streamed = NDJSON in request.headers.get("accept", "")
    if tail is not None:
        lines = queries.read_tail(path, tail).lines
        if streamed:
            return Response(text_of(lines), media_type=NDJSON)
        return _shape(log, path, lines, None)
    if streamed:
        return StreamingResponse((text_of(lines) for lines in queries.chunks(path)), media_type=NDJSON)
    if full_content:
        return _shape(log, path, queries.iterate(path), None)
    chunk = queries.read_chunk(path, _offset(token))
    following = None if chunk.at_end else str(chunk.next_offset)
    return _shape(log, path, chunk.lines, following)


def _shape(log: queries.Log, path: LogFile, lines: Iterable[dict[str, Any]], following: str | None) -> LogShape:
    answer: LogShape = {"content": [line_shape(line) for line in lines], "continuation_token": following}
    if not answer["content"] and (reason := queries.why_empty(path, log.attempt)) is not None:
        answer["message"] = reason
    return answer


def text_of(lines: list[dict[str, Any]]) -> str:
    """Return lines as ndjson."""
    return "".join(json.dumps(line_shape(line)) + "\n" for line in lines)


def _offset(token: str | None) -> int:
    if token is None:
        return 0
    if not token.isascii() or not token.isdigit() or int(token) > 2**62:
        raise InvalidRequestError("token was not made by this log; begin again without it")
    return int(token)
