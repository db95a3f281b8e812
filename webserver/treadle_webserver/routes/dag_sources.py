"""Versions of DAGs and their source text."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import Field

from treadle_metadata.queries import versions as queries
from treadle_metadata.queries.dags import get_dag
from treadle_webserver.parameters import DagId, PageQuery, VersionNumber, one_or_all, totals
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.dags import SourceShape, VersionListShape, VersionShape, version_shape

router = APIRouter(prefix="/api/v2", tags=["DagVersion"], route_class=RetriedRoute)


class VersionQuery(PageQuery):
    """Which versions."""

    version_number: int | None = Field(None, ge=1, le=2**31 - 1)


@router.get("/dags/{dag_id}/dagVersions")
def get_dag_versions(dag_id: DagId, query: Annotated[VersionQuery, Query()], service: ServiceOf) -> VersionListShape:
    """List the versions of a DAG, the newest first."""
    one = one_or_all(dag_id)
    with service.database.begin() as connection:
        if one is not None:
            get_dag(connection, one)
        page = queries.list_versions(connection, one, query.page, number=query.version_number)
    return {"dag_versions": [version_shape(row) for row in page.rows], **totals(page)}


@router.get("/dags/{dag_id}/dagVersions/{version_number}")
def get_dag_version(dag_id: DagId, version_number: VersionNumber, service: ServiceOf) -> VersionShape:
    """Return one version of a DAG."""
    with service.database.begin() as connection:
        return version_shape(queries.get_version(connection, dag_id, version_number))


@router.get("/dagSources/{dag_id}", response_model=SourceShape)
def get_dag_source(
    request: Request,
    dag_id: DagId,
    service: ServiceOf,
    version_number: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    code_hash: Annotated[str | None, Query(max_length=64)] = None,
) -> Response | SourceShape:
    """Return the source of a DAG's newest version, or of another; as bare text where only that is accepted.

    ``code_hash`` (Treadle's own) asks for the text that an attempt ran, or any other that the version has had.
    """
    with service.database.begin() as connection:
        version = queries.get_version(connection, dag_id, version_number)
        content = version["code"] if code_hash is None else queries.text_of_dag(connection, dag_id, code_hash)
    if request.headers.get("accept", "").startswith("text/plain"):
        return PlainTextResponse(content)
    return {
        "content": content,
        "dag_id": dag_id,
        "dag_display_name": version["display_name"] or dag_id,
        "version_number": version["number"],
    }
