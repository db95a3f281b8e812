"""XComs: their keys, and one value as plain JSON to show. Nothing here builds a class from a stored value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.conditions import Conditions
from treadle_metadata.queries.paging import Page, PageRequest, SortKey, fetch_page
from treadle_metadata.queries.runs import get_run
from treadle_metadata.statements import rows, tuples

_SELECT: Final[LiteralString] = "xcom.key, xcom.created_at, xcom.length, instance.task_id, instance.map_index"
_SOURCE: Final[LiteralString] = (
    "task_instance AS instance JOIN xcom ON xcom.task_instance_id = instance.id AND xcom.month = instance.month"
)

_SORTS: Final = {
    "key": SortKey("xcom.key", "text"),
    "timestamp": SortKey("xcom.created_at", "timestamptz"),
    "task_id": SortKey("instance.task_id", "text"),
    "map_index": SortKey("instance.map_index", "int"),
}


def list_xcoms(
    connection: Connection,
    dag_id: str,
    run_id: str,
    page: PageRequest,
    *,
    task_id: str | None = None,
    map_index: int | None = None,
    key: str | None = None,
    key_pattern: str | None = None,
    key_prefix: str | None = None,
    task_pattern: str | None = None,
    task_prefix: str | None = None,
) -> Page:
    """Return a page of the XComs of a run (or of one task of it) without their values, with the run's facts.

    Raises:
        NotFoundError: there is no such DAG or run.
    """
    run = get_run(connection, dag_id, run_id)
    conditions = Conditions()
    conditions.add("instance.dag_run_id = %(run)s AND instance.month = %(month)s", run=run["id"], month=run["month"])
    conditions.add("xcom.month = %(month)s")
    conditions.equals("instance.task_id", "task_id", task_id)
    conditions.equals("instance.map_index", "map_index", map_index)
    conditions.equals("xcom.key", "key", key)
    conditions.pattern("xcom.key", "key_pattern", key_pattern)
    conditions.prefix("xcom.key", "key_prefix", key_prefix)
    conditions.pattern("instance.task_id", "task_pattern", task_pattern)
    conditions.prefix("instance.task_id", "task_prefix", task_prefix)
    page_of = fetch_page(
        connection,
        select=_SELECT,
        source=_SOURCE,
        conditions=conditions,
        sorts=_SORTS,
        default=("task_id", "map_index", "key"),
        unique=("task_id", "map_index", "key"),
        request=page,
    )
    for row in page_of.rows:
        row.update(_facts(run))
    return page_of


def get_xcom(
    connection: Connection, dag_id: str, run_id: str, task_id: str, key: str, map_index: int = -1
) -> dict[str, Any]:
    """Return one XCom; ``value`` is its stored typed JSON text, for ``treadle.xcom.to_plain``.

    Raises:
        NotFoundError: there is no such DAG, run or XCom.
    """
    run = get_run(connection, dag_id, run_id)
    found = rows(
        connection,
        f"""
        SELECT {_SELECT}, xcom.value FROM {_SOURCE}
        WHERE instance.dag_run_id = %(run)s AND instance.month = %(month)s AND xcom.month = %(month)s
          AND instance.task_id = %(task_id)s AND instance.map_index = %(map_index)s AND xcom.key = %(key)s
        """,
        {"run": run["id"], "month": run["month"], "task_id": task_id, "map_index": map_index, "key": key},
    )
    if not found:
        raise NotFoundError(f"XCom of task {task_id!r} (map index {map_index}) in run {run_id!r}", key)
    return dict(found[0]) | _facts(run)


def returned_values(
    connection: Connection, run: Mapping[str, Any], task_ids: Sequence[str]
) -> dict[str, list[tuple[int, str]]]:
    """Return (map index, stored text) of what these tasks of ``run`` returned; nothing of those that returned nothing.

    One statement, whatever the number of tasks.
    """
    found = tuples(
        connection,
        """
        SELECT instance.task_id, instance.map_index, xcom.value
        FROM task_instance AS instance
        JOIN xcom ON xcom.task_instance_id = instance.id AND xcom.month = instance.month
        WHERE instance.dag_run_id = %(run)s AND instance.month = %(month)s AND xcom.month = %(month)s
          AND instance.task_id = ANY(%(task_ids)s) AND xcom.key = 'return_value'
        ORDER BY instance.task_id, instance.map_index
        """,
        {"run": run["id"], "month": run["month"], "task_ids": list(task_ids)},
    )
    values: dict[str, list[tuple[int, str]]] = {}
    for task_id, map_index, value in found:
        values.setdefault(task_id, []).append((map_index, value))
    return values


def _facts(run: Mapping[str, Any]) -> dict[str, Any]:
    return {name: run[name] for name in ("dag_id", "run_id", "logical_date", "run_after", "dag_display_name")}
