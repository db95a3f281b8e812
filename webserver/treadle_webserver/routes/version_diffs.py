"""What differs between two versions of a DAG."""

from __future__ import annotations

from fastapi import APIRouter

from treadle.differences import differences
from treadle.document import loads
from treadle_metadata.queries.versions import get_version
from treadle_webserver.parameters import DagId, VersionNumber
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.why import VersionDiffShape, diff_shape

router = APIRouter(prefix="/api/v2/dags/{dag_id}/dagVersions", tags=["DagVersion"], route_class=RetriedRoute)


@router.get("/{version_number}/diff/{other_version_number}")
def get_dag_version_diff(
    dag_id: DagId, version_number: VersionNumber, other_version_number: VersionNumber, service: ServiceOf
) -> VersionDiffShape:
    """Return what became different from one version of a DAG to another."""
    with service.database.begin() as connection:
        old = get_version(connection, dag_id, version_number)
        new = get_version(connection, dag_id, other_version_number)
    found = differences(loads(old["document"]), loads(new["document"]))
    source_changed = old["code"] != new["code"]
    return diff_shape(dag_id, old["number"], new["number"], found, source_changed=source_changed)
