"""Asking for a DAG file to be read again at once, though nothing of it has changed."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

from fastapi import APIRouter, Path, Response

from treadle_metadata import audit
from treadle_metadata.connection import PARSE, notify
from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.dags import is_dag_file
from treadle_webserver.authorize import ActorOf
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf

router = APIRouter(prefix="/api/v2", tags=["DAG Parsing"], route_class=RetriedRoute)

FileToken = Annotated[str, Path(max_length=5000, description="The `file_token` of a DAG")]


@router.put("/parseDagFile/{file_token}", status_code=201, response_class=Response)
def reparse_dag_file(file_token: FileToken, actor: ActorOf, service: ServiceOf) -> None:
    """Tell the DAG processors to read a DAG file again; done when the DAG's ``last_parsed_time`` is a new one."""
    file = _file_of(file_token)
    with service.database.begin() as connection:
        if not is_dag_file(connection, file):
            raise NotFoundError("DAG file", file)
        notify(connection, PARSE, file)
        audit.record(
            connection, actor=actor.username, event="reparse_dag_file", detail={"file": file}, now=service.now()
        )


def _file_of(token: str) -> str:
    try:
        return base64.urlsafe_b64decode(token.encode()).decode()
    except (ValueError, binascii.Error):
        raise NotFoundError("DAG file with token", token) from None
