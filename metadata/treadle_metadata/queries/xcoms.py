"""XComs: their keys, and one value as plain JSON to show. Nothing here builds a class from a stored value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.conditions import ANYTIME, Between, Conditions
from treadle_metadata.queries.paging import Page, PageRequest, SortKey, fetch_page
from treadle_metadata.queries.runs import get_run
from treadle_metadata.statements import rows, tuples

_SELECT: Final[LiteralString] = "xcom.key, xcom.created_at, xcom.length, instance.task_id, instance.map_index"
_SOURCE: Final[LiteralString] = (
    "task_instance AS instance JOIN xcom ON xcom.task_instance_id = instance.id AND xcom.month = instance.month"
)

# Of many runs, the newest run first: what a run has is found through its index, as far as the page reaches.
_SELECT_OF_ALL: Final[LiteralString] = (
    f"{_SELECT}, run.dag_id, run.run_id, run.logical_date, run.run_after, dag.display_name AS dag_display_name"
)
_SOURCE_OF_ALL: Final[LiteralString] = (
    "dag_run AS run JOIN task_instance AS instance ON instance.dag_run_id = run.id AND instance.month = run.month"
    " JOIN xcom ON xcom.task_instance_id = instance.id AND xcom.month = instance.month"
    " JOIN dag ON dag.dag_id = run.dag_id"
)

_SORTS: Final = {
    "key": SortKey("xcom.key", "text"),
    "timestamp": SortKey("xcom.created_at", "timestamptz"),
    "task_id": SortKey("instance.task_id", "text"),
    "map_index": SortKey("instance.map_index", "int"),
}
_SORTS_OF_ALL: Final = {
    "run_after": SortKey("run.run_after", "timestamptz"),
    "run": SortKey("run.id", "bigint"),
    "instance": SortKey("instance.id", "bigint"),
    "key": SortKey("xcom.key", "text"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class XComFilter:
    """What XComs are wanted. ``dag_id``, ``run_id`` and ``task_id`` None mean of all."""

    dag_id: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    map_index: int | None = None
    key: str | None = None
    patterns: Mapping[str, str | None] = field(default_factory=dict)
    """Parts of texts, by a name of ``MATCHED`` or ``MATCHED_OF_RUNS``."""
    prefixes: Mapping[str, str | None] = field(default_factory=dict)
    """Beginnings of texts, by the same names."""
    run_after: Between = ANYTIME
    logical_date: Between = ANYTIME


MATCHED: Final[Mapping[str, LiteralString]] = {"xcom_key": "xcom.key", "task_id": "instance.task_id"}
MATCHED_OF_RUNS: Final[Mapping[str, LiteralString]] = {
    "run_id": "run.run_id",
    "dag_display_name": "coalesce(dag.display_name, dag.dag_id)",
}
"""The texts of runs that a filter over many of them can ask for."""


def list_xcoms(connection: Connection, wanted: XComFilter, page: PageRequest) -> Page:
    """Return a page of XComs without their values, with their runs' facts: of one run, else the newest run's first.

    Raises:
        NotFoundError: ``dag_id`` and ``run_id`` name no run.
    """
    conditions = Conditions()
    if wanted.dag_id is None or wanted.run_id is None:
        return _of_many(connection, wanted, conditions, page)
    run = get_run(connection, wanted.dag_id, wanted.run_id)
    conditions.add("instance.dag_run_id = %(run)s AND instance.month = %(month)s", run=run["id"], month=run["month"])
    conditions.add("xcom.month = %(month)s")
    _narrow(conditions, wanted, MATCHED)
    found = fetch_page(
        connection,
        select=_SELECT,
        source=_SOURCE,
        conditions=conditions,
        sorts=_SORTS,
        default=("task_id", "map_index", "key"),
        unique=("task_id", "map_index", "key"),
        request=page,
    )
    for row in found.rows:
        row.update(_facts(run))
    return found


def _of_many(connection: Connection, wanted: XComFilter, conditions: Conditions, page: PageRequest) -> Page:
    conditions.equals("run.dag_id", "dag_id", wanted.dag_id)
    conditions.equals("run.run_id", "run_id", wanted.run_id)
    _narrow(conditions, wanted, {**MATCHED, **MATCHED_OF_RUNS})
    conditions.between("run.run_after", "run_after", wanted.run_after)
    conditions.between("run.logical_date", "logical_date", wanted.logical_date)
    return fetch_page(
        connection,
        select=_SELECT_OF_ALL,
        source=_SOURCE_OF_ALL,
        conditions=conditions,
        sorts=_SORTS_OF_ALL,
        default=("-run_after", "-run"),
        unique=("instance", "key"),
        request=page,
        indexed=("run_after",),
    )


def _narrow(conditions: Conditions, wanted: XComFilter, matched: Mapping[str, LiteralString]) -> None:
    conditions.equals("instance.task_id", "task_id", wanted.task_id)
    conditions.equals("instance.map_index", "map_index", wanted.map_index)
    conditions.equals("xcom.key", "key", wanted.key)
    for name, column in matched.items():
        conditions.pattern(column, f"{name}_pattern", wanted.patterns.get(name))
        conditions.prefix(column, f"{name}_prefix", wanted.prefixes.get(name))


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
