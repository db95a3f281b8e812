"""Task instances and their tries: of one run (through its partition), or over the newest runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.errors import ConflictError, NotFoundError
from treadle_metadata.queries.conditions import ANYTIME, Between, Conditions
from treadle_metadata.queries.paging import NOT_YET, Page, PageRequest, SortKey, fetch_page
from treadle_metadata.queries.runs import get_run
from treadle_metadata.statements import rows
from treadle_metadata.states import TaskState

_SELECT: Final[LiteralString] = (
    "instance.*, run.run_id, run.logical_date, run.run_after, run.version_id, dag.display_name AS dag_display_name,"
    " version.number AS version_number, version.created_at AS version_created_at"
)
# Joined by primary keys only; an instance carries its run's month, so that a page costs no more than its rows.
_SOURCE: Final[LiteralString] = (
    "dag_run AS run JOIN task_instance AS instance ON instance.dag_run_id = run.id AND instance.month = run.month"
    " JOIN dag ON dag.dag_id = run.dag_id JOIN dag_version AS version ON version.id = run.version_id"
)

_SORTS: Final = {
    "id": SortKey("instance.id", "bigint"),
    "task_id": SortKey("instance.task_id", "text"),
    "map_index": SortKey("instance.map_index", "int"),
    "state": SortKey("instance.state", "text"),
    "try_number": SortKey("instance.try_number", "int"),
    "start_date": SortKey(f"coalesce(instance.started_at, {NOT_YET})", "timestamptz"),
    "end_date": SortKey(f"coalesce(instance.ended_at, {NOT_YET})", "timestamptz"),
    "run_after": SortKey("run.run_after", "timestamptz"),
    "logical_date": SortKey(f"coalesce(run.logical_date, {NOT_YET})", "timestamptz"),
    "run": SortKey("run.id", "bigint"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceFilter:
    """What task instances are wanted. ``dag_id`` and ``run_id`` None mean of all DAGs or runs."""

    dag_id: str | None = None
    run_id: str | None = None
    task_ids: Sequence[str] = ()
    map_indexes: Sequence[int] = ()
    states: Sequence[str] = ()
    pools: Sequence[str] = ()
    queues: Sequence[str] = ()
    executors: Sequence[str] = ()
    operators: Sequence[str] = ()
    try_numbers: Sequence[int] = ()
    task_id_pattern: str | None = None
    run_id_pattern: str | None = None
    dag_id_pattern: str | None = None
    run_after: Between = ANYTIME
    logical_date: Between = ANYTIME
    started: Between = ANYTIME
    ended: Between = ANYTIME


def list_instances(connection: Connection, wanted: InstanceFilter, page: PageRequest) -> Page:
    """Return a page of task instances: of one run by task and map index, else the newest run's first.

    Raises:
        NotFoundError: ``dag_id`` and ``run_id`` name no run.
    """
    conditions = Conditions()
    one_run = wanted.dag_id is not None and wanted.run_id is not None
    if wanted.dag_id is not None and wanted.run_id is not None:
        run = get_run(connection, wanted.dag_id, wanted.run_id)
        conditions.add("run.id = %(dag_run_id)s", dag_run_id=run["id"])
        conditions.add("instance.dag_run_id = %(dag_run_id)s")
        conditions.add("instance.month = %(month)s", month=run["month"])
    else:
        conditions.equals("run.dag_id", "dag_id", wanted.dag_id)
        conditions.equals("run.run_id", "run_id", wanted.run_id)
    _narrow(conditions, wanted)
    return fetch_page(
        connection,
        select=_SELECT,
        source=_SOURCE,
        conditions=conditions,
        sorts=_SORTS,
        default=("task_id", "map_index") if one_run else ("-run_after", "-run"),
        unique=("id",),
        request=page,
    )


def _narrow(conditions: Conditions, wanted: InstanceFilter) -> None:
    conditions.any_of("instance.task_id", "task_ids", wanted.task_ids)
    conditions.any_of("instance.map_index", "map_indexes", wanted.map_indexes)
    conditions.states("instance.state", TaskState, wanted.states)
    conditions.any_of("instance.pool", "pools", wanted.pools)
    conditions.any_of("instance.queue", "queues", wanted.queues)
    conditions.any_of("instance.executor", "executors", wanted.executors)
    conditions.any_of("instance.operator", "operators", wanted.operators)
    conditions.any_of("instance.try_number", "try_numbers", wanted.try_numbers)
    conditions.pattern("instance.task_id", "task_id_pattern", wanted.task_id_pattern)
    conditions.pattern("run.run_id", "run_id_pattern", wanted.run_id_pattern)
    conditions.pattern("run.dag_id", "dag_id_pattern", wanted.dag_id_pattern)
    conditions.between("run.run_after", "run_after", wanted.run_after)
    conditions.between("run.logical_date", "logical_date", wanted.logical_date)
    conditions.between("instance.started_at", "started", wanted.started)
    conditions.between("instance.ended_at", "ended", wanted.ended)


def get_instance(connection: Connection, dag_id: str, run_id: str, task_id: str, map_index: int = -1) -> dict[str, Any]:
    """Return one task instance with the facts of its run.

    Raises:
        NotFoundError: there is no such DAG, run or instance.
        ConflictError: the task is mapped, so ``map_index`` -1 names no single instance.
    """
    run = get_run(connection, dag_id, run_id)
    wanted = {"run": run["id"], "month": run["month"], "task_id": task_id, "map_index": map_index}
    found = rows(
        connection,
        f"""
        SELECT {_SELECT} FROM {_SOURCE}
        WHERE run.id = %(run)s AND instance.dag_run_id = %(run)s AND instance.month = %(month)s
          AND instance.task_id = %(task_id)s AND instance.map_index = %(map_index)s
        """,
        wanted,
    )
    if found:
        return dict(found[0])
    raise _missing_instance(connection, run, wanted)


def rows_by_id(connection: Connection, wanted: Sequence[tuple[int, date]]) -> list[dict[str, Any]]:
    """Return the task instances with these ids and months, with the facts of their runs, by run, task and index."""
    found: list[dict[str, Any]] = []
    for month in sorted({month for _, month in wanted}):
        ids = [one for one, of_month in wanted if of_month == month]
        sql = f"""
            SELECT {_SELECT} FROM {_SOURCE}
            WHERE instance.id = ANY(%(ids)s) AND instance.month = %(month)s
            ORDER BY run.id, instance.task_id, instance.map_index
        """
        found += [dict(row) for row in rows(connection, sql, {"ids": ids, "month": month})]
    return found


def _missing_instance(connection: Connection, run: Mapping[str, Any], wanted: Mapping[str, Any]) -> Exception:
    found = rows(
        connection,
        """
        SELECT task_id, count(*) AS number FROM task_instance
        WHERE dag_run_id = %(run)s AND month = %(month)s GROUP BY task_id
        """,
        wanted,
    )
    counts = {row["task_id"]: row["number"] for row in found}
    where = f"task instance of run {run['run_id']!r} of DAG {run['dag_id']!r}"
    task_id, index = wanted["task_id"], wanted["map_index"]
    if task_id not in counts:
        return NotFoundError(where, task_id, counts)
    if index == -1:
        return ConflictError(
            f"task {task_id!r} of that run is mapped into {counts[task_id]} instances: "
            "name one by its map index (--map-index)"
        )
    return NotFoundError(where, f"{task_id}[{index}]")


def state_counts(connection: Connection, run: Mapping[str, Any]) -> dict[str, int]:
    """Return how many instances of ``run`` (a row of ``queries.runs``) are in each state."""
    found = rows(
        connection,
        """
        SELECT state, count(*) AS number FROM task_instance
        WHERE dag_run_id = %(id)s AND month = %(month)s GROUP BY state ORDER BY state
        """,
        {"id": run["id"], "month": run["month"]},
    )
    return {row["state"]: row["number"] for row in found}


def list_tries(
    connection: Connection, instance: Mapping[str, Any], try_number: int | None = None
) -> list[dict[str, Any]]:
    """Return the attempts of ``instance`` (a row of this module), the oldest first.

    An instance that is handed out again after its worker died may have several attempts with one try number.
    """
    found = rows(
        connection,
        """
        SELECT attempt.*, version.number AS version_number, version.created_at AS version_created_at
        FROM task_attempt AS attempt JOIN dag_version AS version ON version.id = attempt.version_id
        WHERE attempt.task_instance_id = %(id)s AND attempt.month = %(month)s
          AND (%(try_number)s::int IS NULL OR attempt.try_number = %(try_number)s::int)
        ORDER BY attempt.try_number, attempt.queued_at
        """,
        {"id": instance["id"], "month": instance["month"], "try_number": try_number},
    )
    return [dict(row) for row in found]


def get_try(connection: Connection, instance: Mapping[str, Any], try_number: int) -> dict[str, Any]:
    """Return one attempt of ``instance``: the newest with this try number.

    Raises:
        NotFoundError: the instance has not had that many attempts.
    """
    found = list_tries(connection, instance, try_number)
    if not found:
        raise NotFoundError(f"try of task instance {instance['task_id']!r}", try_number)
    return found[-1]


def rendered_fields(connection: Connection, instance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template fields as the newest attempt rendered them (masked by the worker), or nothing."""
    if instance["attempt_id"] is None:
        return {}
    found = rows(
        connection,
        "SELECT rendered_fields FROM task_attempt WHERE attempt_id = %(attempt_id)s AND month = %(month)s",
        {"attempt_id": instance["attempt_id"], "month": instance["month"]},
    )
    return (found[0]["rendered_fields"] or {}) if found else {}
