"""Deleting a DAG: at once where its history is short, else in parts while the answer tells how far it is (case E16).

Every part is a transaction of its own. Cut off in the middle, by a crash or a client that goes away, the DAG is paused
and has fewer runs; the same request goes on with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Final

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse
from typing_extensions import TypedDict

from treadle_metadata import audit, deletion
from treadle_metadata.connection import Database
from treadle_metadata.errors import MetadataError
from treadle_webserver.authorize import ActorOf
from treadle_webserver.parameters import DagId
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.waiting import NDJSON, UNBUFFERED
from treadle_webserver.service import ServiceOf

router = APIRouter(prefix="/api/v2", tags=["DAG"], route_class=RetriedRoute)

AT_ONCE: Final = 1000
"""Runs that one transaction deletes in about a second; a DAG with more is deleted in parts of half that."""


class DeletedShape(TypedDict):
    """What was deleted with a DAG."""

    dag_id: str
    deleted_runs: int


@router.delete(
    "/dags/{dag_id}",
    response_model=DeletedShape,
    responses={202: {"description": "A line of JSON for each part that is deleted", "content": {NDJSON: {}}}},
)
def delete_dag(dag_id: DagId, actor: ActorOf, service: ServiceOf) -> Response | DeletedShape:
    """Delete a DAG with its versions, runs and XComs; 409 while runs are under way. Its file and its logs stay.

    A file that still defines the DAG makes it anew, so delete the file first. A long history is answered with 202 and
    a line of JSON for each part: ``{"deleted_runs": 500, "runs": 120000}``, at the end with ``"done": true``.
    """
    database, now = service.whole_database, service.now()
    with database.begin() as connection:
        number = deletion.begin_deletion(connection, dag_id, now=now)
        audit.record(
            connection, actor=actor.username, event="delete_dag", dag_id=dag_id, detail={"runs": number}, now=now
        )
        if number <= AT_ONCE:
            deletion.delete_dag(connection, dag_id)
            return {"dag_id": dag_id, "deleted_runs": number}
    return StreamingResponse(_parts(database, dag_id, number), 202, UNBUFFERED, NDJSON)


def _parts(database: Database, dag_id: str, number: int) -> Iterator[str]:
    gone = 0
    try:
        while some := database.run(partial(deletion.delete_some_runs, dag_id=dag_id, most=AT_ONCE // 2)):
            gone += some
            yield _line({"deleted_runs": gone, "runs": number})
        database.run(partial(deletion.delete_dag, dag_id=dag_id))
    except MetadataError as error:
        yield _line({"deleted_runs": gone, "runs": number, "error": str(error)})
    else:
        yield _line({"deleted_runs": gone, "runs": number, "done": True})


def _line(content: dict[str, object]) -> str:
    return json.dumps(content) + "\n"
