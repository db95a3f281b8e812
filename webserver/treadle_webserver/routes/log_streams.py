"""Task logs beyond a page: followed while they are written, searched, and downloaded whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import Field

from treadle_metadata.queries import log_windows, logs
from treadle_metadata.queries.task_instances import get_instance, get_try, is_over
from treadle_metadata.remote_logs.places import places_of
from treadle_webserver.authorize import may_still
from treadle_webserver.live.following import Followed, follow
from treadle_webserver.live.streams import EventStream
from treadle_webserver.parameters import DagId, MapIndexQuery, RunId, TaskId, TryNumber
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.logs import NDJSON, text_of
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.log_lines import LogSearchShape, line_shape

router = APIRouter(
    prefix="/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}/logs/{try_number}",
    tags=["TaskInstance"],
    route_class=RetriedRoute,
)

Line = Annotated[int, Query(ge=0, le=2**62, description="Number of a line, counted from 0")]
Levels = Annotated[list[Annotated[str, Field(max_length=20)]], Query(max_length=10)]
_LONGEST_WORDS: Final = 500


@router.get("/search")
def search_log(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    try_number: TryNumber,
    service: ServiceOf,
    query: Annotated[str, Query(max_length=_LONGEST_WORDS, description="Words, letter case aside")] = "",
    level: Levels = [],  # noqa: B006
    first: Line = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    map_index: MapIndexQuery = -1,
) -> LogSearchShape:
    """Find the lines of an attempt's log that hold ``query`` and have one of the levels, from line ``first`` on.

    Go on at ``next_line`` until it is null: one answer searches about 64 MiB, and may hold no match.
    """
    found_log = _find(service, dag_id, dag_run_id, task_id, map_index, try_number)
    file = places_of(service.settings).find(found_log.stored, found_log.month)
    levels = frozenset(one.lower() for one in level)
    found = log_windows.search(
        file, found_log.stored, service.line_indexes, query, levels=levels, first=first, limit=limit
    )
    matches = [{"number": one.number, "line": line_shape(one.line)} for one in found.matches]
    return {"matches": matches, "next_line": found.next_line}  # type: ignore[typeddict-item]


@router.get("/follow", response_class=EventStream, status_code=200)
async def follow_log(
    request: Request,
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    try_number: TryNumber,
    service: ServiceOf,
    first: Line = 0,
    map_index: MapIndexQuery = -1,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID", max_length=20)] = None,
) -> EventStream:
    """Stream an attempt's log as server-sent events, from line ``first`` on, until it has ended.

    ``lines`` carries lines and the number of the first of them, ``end`` comes last. The id of an event is the number of
    the line after it, so a browser that connects again reads on.
    """
    if last_event_id is not None and last_event_id.isascii() and last_event_id.isdigit():
        first = int(last_event_id)
    found = await run_in_threadpool(_find, service, dag_id, dag_run_id, task_id, map_index, try_number)

    revoked: list[bool] = []

    def has_ended() -> bool:
        if not may_still(request):
            revoked.append(True)
            return True
        with service.database.begin() as connection:
            instance = get_instance(connection, dag_id, dag_run_id, task_id, map_index)
            return is_over(instance, get_try(connection, instance, try_number))

    places = places_of(service.settings)
    followed = Followed(found.stored, lambda: places.find(found.stored, found.month), has_ended, line_shape)
    live = request.app.state.live
    return EventStream(follow(followed, service.line_indexes, first, lambda: bool(live.is_closed or revoked)))


@router.get("/download", response_class=StreamingResponse)
def download_log(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    try_number: TryNumber,
    service: ServiceOf,
    format: Annotated[Literal["text", "ndjson"], Query()] = "text",
    map_index: MapIndexQuery = -1,
) -> StreamingResponse:
    """Return all of an attempt's log as a file: as text to read, or one JSON object a line."""
    found = _find(service, dag_id, dag_run_id, task_id, map_index, try_number)
    chunks = logs.chunks(places_of(service.settings).find(found.stored, found.month))
    name = "_".join((dag_id, dag_run_id, task_id, *([str(map_index)] if map_index >= 0 else []), str(try_number)))
    safe = "".join(one if one.isascii() and (one.isalnum() or one in "._+-") else "_" for one in name)
    ending = "log" if format == "text" else "jsonl"
    return StreamingResponse(
        _plain(chunks) if format == "text" else (text_of(lines) for lines in chunks),
        media_type="text/plain; charset=utf-8" if format == "text" else NDJSON,
        headers={"Content-Disposition": f'attachment; filename="{safe}.{ending}"'},
    )


def _plain(chunks: Iterable[list[dict[str, Any]]]) -> Iterator[str]:
    for lines in chunks:
        yield "".join(_plain_line(line) for line in lines)


def _plain_line(line: dict[str, Any]) -> str:
    head = " ".join(str(line[name]) for name in ("time", "level", "source") if line.get(name) is not None)
    trace = f"\n{line['exc']}" if line.get("exc") else ""
    return f"{head} {line.get('text', '')}{trace}\n".lstrip(" ")


def _find(service: Service, dag_id: str, run_id: str, task_id: str, map_index: int, try_number: int) -> logs.Log:
    logs.require_try(try_number)
    with service.database.begin() as connection:
        return logs.find_log(connection, dag_id, run_id, task_id, map_index, try_number)
