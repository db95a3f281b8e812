"""XComs: list, one with its value shown as plain JSON, and those that people write, change and delete.

No stored value is ever turned into a class here, and what is written is plain data (case F24).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy import Connection

from treadle.xcom import to_plain
from treadle_metadata import audit, xcom_edits
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.queries import xcoms as queries
from treadle_metadata.queries.conditions import Between
from treadle_metadata.queries.surrogates import may_hold_halves, without_halves
from treadle_webserver.authorize import Actor, ActorOf
from treadle_webserver.parameters import (
    DagId,
    EndOfDay,
    MapIndexQuery,
    Moment,
    Name,
    PageQuery,
    RunId,
    StrictBody,
    TaskId,
    Text,
    one_or_all,
    totals,
)
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.resources import XComListShape, XComShape, xcom_entry_shape

router = APIRouter(
    prefix="/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}/xcomEntries",
    tags=["XCom"],
    route_class=RetriedRoute,
)


class XComQuery(PageQuery):
    """Which XComs. What concerns runs narrows a list over many of them, and no other."""

    xcom_key: Text = None
    xcom_key_pattern: Text = None
    xcom_key_prefix_pattern: Text = None
    task_id_pattern: Text = None
    task_id_prefix_pattern: Text = None
    map_index: int | None = Field(None, ge=-1, le=2**31 - 1)
    map_index_filter: int | None = Field(None, ge=-1, le=2**31 - 1)
    run_id_pattern: Text = None
    run_id_prefix_pattern: Text = None
    dag_display_name_pattern: Text = None
    dag_display_name_prefix_pattern: Text = None
    run_after_gte: Moment = None
    run_after_gt: EndOfDay = None
    run_after_lte: EndOfDay = None
    run_after_lt: Moment = None
    logical_date_gte: Moment = None
    logical_date_gt: EndOfDay = None
    logical_date_lte: EndOfDay = None
    logical_date_lt: Moment = None

    def wanted(self, dag_id: str, run_id: str, task_id: str) -> queries.XComFilter:
        """Return the filter, for one or all DAGs, runs and tasks."""
        matched = (*queries.MATCHED, *queries.MATCHED_OF_RUNS)
        return queries.XComFilter(
            dag_id=one_or_all(dag_id),
            run_id=one_or_all(run_id),
            task_id=one_or_all(task_id),
            map_index=self.map_index_filter if self.map_index is None else self.map_index,
            key=self.xcom_key,
            patterns={name: getattr(self, f"{name}_pattern") for name in matched},
            prefixes={name: getattr(self, f"{name}_prefix_pattern") for name in matched},
            run_after=self._between("run_after"),
            logical_date=self._between("logical_date"),
        )

    def _between(self, name: str) -> Between:
        return Between(**{suffix: getattr(self, f"{name}_{suffix}") for suffix in ("gte", "gt", "lte", "lt")})


class XComBody(StrictBody):
    """An XCom to make: any JSON."""

    key: str = Field(max_length=512)
    value: Any
    map_index: int = Field(-1, ge=-1, le=2**31 - 1)


class XComPatch(StrictBody):
    """What an XCom's value is to be: any JSON."""

    value: Any
    map_index: int = Field(-1, ge=-1, le=2**31 - 1)


@router.get("")
def get_xcom_entries(
    dag_id: DagId, dag_run_id: RunId, task_id: TaskId, query: Annotated[XComQuery, Query()], service: ServiceOf
) -> XComListShape:
    """List XComs without their values; ``~`` stands for all DAGs, all runs or all tasks."""
    with service.database.begin() as connection:
        page = queries.list_xcoms(connection, query.wanted(dag_id, dag_run_id, task_id), query.page)
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
    return _shape(row, stringify=stringify)


@router.post("", status_code=201)
def create_xcom_entry(
    dag_id: DagId, dag_run_id: RunId, task_id: TaskId, body: XComBody, actor: ActorOf, service: ServiceOf
) -> XComShape:
    """Give a task instance an XCom, for tasks that pull it later."""
    place = (dag_id, dag_run_id, task_id, body.map_index)
    with service.database.begin() as connection:
        xcom_edits.create_xcom(
            connection, place, body.key, body.value, most_bytes=service.settings.xcom_max_bytes, now=service.now()
        )
        _record(connection, service, actor, "create_xcom", place, body.key)
        return _shape(queries.get_xcom(connection, dag_id, dag_run_id, task_id, body.key, body.map_index))


@router.patch("/{xcom_key:path}")
def update_xcom_entry(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    xcom_key: Name,
    body: XComPatch,
    actor: ActorOf,
    service: ServiceOf,
) -> XComShape:
    """Replace the value of an XCom."""
    place = (dag_id, dag_run_id, task_id, body.map_index)
    with service.database.begin() as connection:
        xcom_edits.change_xcom(
            connection, place, xcom_key, body.value, most_bytes=service.settings.xcom_max_bytes, now=service.now()
        )
        _record(connection, service, actor, "patch_xcom", place, xcom_key)
        return _shape(queries.get_xcom(connection, dag_id, dag_run_id, task_id, xcom_key, body.map_index))


@router.delete("/{xcom_key:path}", status_code=204, response_class=Response)
def delete_xcom_entry(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    xcom_key: Name,
    actor: ActorOf,
    service: ServiceOf,
    map_index: MapIndexQuery = -1,
) -> None:
    """Delete an XCom."""
    place = (dag_id, dag_run_id, task_id, map_index)
    with service.database.begin() as connection:
        xcom_edits.delete_xcom(connection, place, xcom_key)
        _record(connection, service, actor, "delete_xcom", place, xcom_key)


def _record(
    connection: Connection, service: Service, actor: Actor, event: str, place: xcom_edits.Place, key: str
) -> None:
    # Without the value, which may be a secret, and may be large.
    audit.record(
        connection,
        actor=actor.username,
        event=event,
        dag_id=place[0],
        run_id=place[1],
        task_id=place[2],
        map_index=place[3],
        detail={"key": key},
        now=service.now(),
    )


def _shape(row: Mapping[str, Any], *, stringify: bool = False) -> XComShape:
    value = to_plain(row["value"])
    if may_hold_halves(row["value"]):
        value = without_halves(value)
    return {**xcom_entry_shape(row), "value": json.dumps(value) if stringify else value}
