"""XComs: list, and one with its value shown as plain JSON. No stored value is ever turned into a class here."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from treadle.xcom import to_plain
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.queries import xcoms as queries
from treadle_metadata.queries.surrogates import may_hold_halves, without_halves
from treadle_webserver.parameters import DagId, MapIndexQuery, Name, PageQuery, RunId, TaskId, Text, one_or_all, totals
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.resources import XComListShape, XComShape, xcom_entry_shape

router = APIRouter(
    prefix="/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}/xcomEntries",
    tags=["XCom"],
    route_class=RetriedRoute,
)


class XComQuery(PageQuery):
    """Which XComs."""

    xcom_key: Text = None
    xcom_key_pattern: Text = None
    map_index: int | None = Field(None, ge=-1, le=2**31 - 1)


@router.get("")
def get_xcom_entries(
    dag_id: DagId, dag_run_id: RunId, task_id: TaskId, query: Annotated[XComQuery, Query()], service: ServiceOf
) -> XComListShape:
    """List the XComs of a task in a run (``~``: of all its tasks), without their values."""
    with service.database.begin() as connection:
        page = queries.list_xcoms(
            connection,
            dag_id,
            dag_run_id,
            query.page,
            task_id=one_or_all(task_id),
            map_index=query.map_index,
            key=query.xcom_key,
            key_pattern=query.xcom_key_pattern,
        )
    return {"xcom_entries": [xcom_entry_shape(row) for row in page.rows], **totals(page)}


@router.get("/{xcom_key:path}")
def get_xcom_entry(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    xcom_key: Name,
    service: ServiceOf,
    map_index: MapIndexQuery = -1,
    deserialize: bool = False,
    stringify: bool = False,
) -> XComShape:
    """Return one XCom; with ``stringify`` its value as JSON text."""
    if deserialize:
        raise InvalidRequestError("deserialize cannot be true: a server never builds classes from stored values")
    with service.database.begin() as connection:
        row = queries.get_xcom(connection, dag_id, dag_run_id, task_id, xcom_key, map_index)
    value = to_plain(row["value"])
    if may_hold_halves(row["value"]):
        value = without_halves(value)
    return {**xcom_entry_shape(row), "value": json.dumps(value) if stringify else value}
