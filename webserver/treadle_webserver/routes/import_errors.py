"""What is wrong with DAG files and DAGs: import errors and warnings."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from treadle_metadata.queries import dags as queries
from treadle_webserver.parameters import PageQuery, RowId, Text, totals
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.resources import (
    ImportErrorListShape,
    ImportErrorShape,
    WarningListShape,
    import_error_shape,
    warning_shape,
)

router = APIRouter(prefix="/api/v2", tags=["Import Error"], route_class=RetriedRoute)


class ImportErrorQuery(PageQuery):
    """Which import errors."""

    filename: Text = None
    filename_pattern: Text = None
    filename_prefix_pattern: Text = None


class WarningQuery(PageQuery):
    """Which warnings."""

    dag_id: Text = None
    warning_type: Text = None


@router.get("/importErrors")
def get_import_errors(query: Annotated[ImportErrorQuery, Query()], service: ServiceOf) -> ImportErrorListShape:
    """List the files that could not be imported."""
    with service.database.begin() as connection:
        page = queries.list_import_errors(
            connection,
            query.page,
            file=query.filename,
            pattern=query.filename_pattern,
            prefix=query.filename_prefix_pattern,
        )
    return {"import_errors": [import_error_shape(row) for row in page.rows], **totals(page)}


@router.get("/importErrors/{import_error_id}")
def get_import_error(import_error_id: RowId, service: ServiceOf) -> ImportErrorShape:
    """Return one import error."""
    with service.database.begin() as connection:
        return import_error_shape(queries.get_import_error(connection, import_error_id))


@router.get("/dagWarnings")
def list_dag_warnings(query: Annotated[WarningQuery, Query()], service: ServiceOf) -> WarningListShape:
    """List the warnings about DAGs."""
    with service.database.begin() as connection:
        page = queries.list_warnings(connection, query.page, dag_id=query.dag_id, kind=query.warning_type)
    return {"dag_warnings": [warning_shape(row) for row in page.rows], **totals(page)}
