"""The graph of a version, its code, and the lines that differ between two versions."""

from __future__ import annotations

import difflib
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from treadle_metadata.queries.dags import get_dag
from treadle_metadata.queries.paging import PageRequest
from treadle_metadata.queries.ui.structures import version_id_of
from treadle_metadata.queries.versions import get_version, list_versions
from treadle_webserver.parameters import DagId
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.times import utc
from treadle_webserver.shapes.ui.structure import CodeDiffShape, CodeShape, GraphShape

router = APIRouter(prefix="/ui/dags/{dag_id}", tags=["UI"], route_class=RetriedRoute)

Version = Annotated[int, Query(ge=1, le=2**31 - 1)]
_VERSIONS = 200


@router.get("/graph", response_model=GraphShape)
def get_ui_graph(
    request: Request,
    dag_id: DagId,
    service: ServiceOf,
    version_number: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> Response:
    """Return the nodes and edges of a version, the newest without a number. What is live comes from ``states``."""
    with service.database.begin() as connection:
        structure = service.structures.get(connection, version_id_of(connection, dag_id, version_number))
    return service.graphs.of(structure).answer(request)


@router.get("/code")
def get_ui_code(
    dag_id: DagId, service: ServiceOf, version_number: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None
) -> CodeShape:
    """Return the newest text of a version, and which versions there are."""
    with service.database.begin() as connection:
        dag = get_dag(connection, dag_id)
        version = get_version(connection, dag_id, version_number)
        versions = list_versions(connection, dag_id, PageRequest(limit=_VERSIONS, cursor=""))
    return {
        "dag_id": dag_id,
        "version_number": version["number"],
        "file": dag["file"],
        "source": version["code"],
        "line": version["document"].get("line"),
        "versions": [{"version_number": row["number"], "created_at": utc(row["created_at"])} for row in versions.rows],
    }


@router.get("/code/diff")
def get_ui_code_diff(dag_id: DagId, old_version: Version, new_version: Version, service: ServiceOf) -> CodeDiffShape:
    """Return the unified diff of the texts of two versions."""
    with service.database.begin() as connection:
        old = get_version(connection, dag_id, old_version)["code"]
        new = get_version(connection, dag_id, new_version)["code"]
    names = (f"version {old_version}", f"version {new_version}")
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="")
    return {"dag_id": dag_id, "old_version": old_version, "new_version": new_version, "lines": list(lines)}
