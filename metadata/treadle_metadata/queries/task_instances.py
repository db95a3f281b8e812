"""Task instances and their tries: of one run (through its partition), or over the newest runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.errors import ConflictError, InvalidRequestError, NotFoundError
from treadle_metadata.queries.conditions import ANYTIME, Between, Conditions
from treadle_metadata.queries.groups import tasks_of_group
from treadle_metadata.queries.paging import NOT_YET, Page, PageRequest, SortKey, fetch_page
from treadle_metadata.queries.runs import get_run
from treadle_metadata.queries.tries import CURRENT_TRY, WITH_TRY
from treadle_metadata.queries.triggers import with_triggers
from treadle_metadata.statements import rows
from treadle_metadata.states import TaskState

_SELECT: Final[LiteralString] = (
    f"{WITH_TRY}, run.run_id, run.logical_date, run.run_after, run.version_id, dag.display_name AS dag_display_name,"
    " version.number AS version_number, version.created_at AS version_created_at"
)
# Joined by primary keys only; an instance carries its run's month, so that a page costs no more than its rows.
_SOURCE: Final[LiteralString] = (
    "dag_run AS run JOIN task_instance AS instance ON instance.dag_run_id = run.id AND instance.month = run.month"
    " JOIN dag ON dag.dag_id = run.dag_id JOIN dag_version AS version ON version.id = run.version_id"
)

_DURATION: Final[LiteralString] = "extract(epoch FROM instance.ended_at - instance.started_at)"
_CHANGED: Final[LiteralString] = (
    "greatest(instance.scheduled_at, instance.queued_at, instance.started_at, instance.ended_at)"
)

_SORTS: Final = {
    "id": SortKey("instance.id", "bigint"),
    "task_id": SortKey("instance.task_id", "text"),
    "map_index": SortKey("instance.map_index", "int"),
    "state": SortKey("instance.state", "text"),
    "try_number": SortKey(CURRENT_TRY, "int"),
    "start_date": SortKey(f"coalesce(instance.started_at, {NOT_YET})", "timestamptz"),
    "end_date": SortKey(f"coalesce(instance.ended_at, {NOT_YET})", "timestamptz"),
    "run_after": SortKey("run.run_after", "timestamptz"),
    "logical_date": SortKey(f"coalesce(run.logical_date, {NOT_YET})", "timestamptz"),
    "run": SortKey("run.id", "bigint"),
    "duration": SortKey(f"coalesce({_DURATION}, -1)", "numeric"),
}

_SAME_LOG: Final = frozenset(
    {TaskState.DEFERRED, TaskState.UP_FOR_RESCHEDULE, TaskState.QUEUED, TaskState.RUNNING, TaskState.RESTARTING}
)

# What may be asked for over many runs: their index. The instances of one run are sorted by anything.
_INDEXED: Final = ("run_after",)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceFilter:
    """What task instances are wanted. ``dag_id`` and ``run_id`` None mean of all DAGs or runs."""

    dag_id: str | None = None
    run_id: str | None = None
    dag_ids: Sequence[str] = ()
    run_ids: Sequence[str] = ()
    task_ids: Sequence[str] = ()
    group_id: str | None = None
    """Of a task group of the run's version, or of the DAG's newest one; needs ``dag_id``."""
    map_indexes: Sequence[int] = ()
    states: Sequence[str] = ()
    pools: Sequence[str] = ()
    queues: Sequence[str] = ()
    executors: Sequence[str] = ()
    operators: Sequence[str] = ()
    try_numbers: Sequence[int] = ()
    version_numbers: Sequence[int] = ()
    patterns: Mapping[str, str | None] = field(default_factory=dict)
    """Parts of texts, by a name of ``MATCHED``."""
    prefixes: Mapping[str, str | None] = field(default_factory=dict)
    """Beginnings of texts, by the same names."""
    run_after: Between = ANYTIME
    logical_date: Between = ANYTIME
    started: Between = ANYTIME
    ended: Between = ANYTIME
    changed: Between = ANYTIME
    """When the instance was last scheduled, queued, started or ended."""
    duration: Between = ANYTIME
    """In seconds, of instances that have ended."""


MATCHED: Final[Mapping[str, LiteralString]] = {
    "task_display_name": "instance.task_id",
    "run_id": "run.run_id",
    "dag_id": "run.dag_id",
    "pool_name": "instance.pool",
    "queue_name": "instance.queue",
    "operator_name": "instance.operator",
    "rendered_map_index": "coalesce(instance.rendered_map_index, instance.map_index::text)",
}
"""The texts that a filter can ask for a part or a beginning of."""


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
        run = None
        conditions.equals("run.dag_id", "dag_id", wanted.dag_id)
        conditions.equals("run.run_id", "run_id", wanted.run_id)
    if wanted.group_id is not None:
        if wanted.dag_id is None:
            raise InvalidRequestError("task_group_id needs a DAG: groups of several DAGs have nothing in common")
        version = None if run is None else run["version_number"]
        tasks = tasks_of_group(connection, wanted.dag_id, wanted.group_id, version)
        conditions.add("instance.task_id = ANY(%(tasks_of_group)s)", tasks_of_group=tasks)
    _narrow(conditions, wanted)
    found = fetch_page(
        connection,
        select=_SELECT,
        source=_SOURCE,
        conditions=conditions,
        sorts=_SORTS,
        default=("task_id", "map_index") if one_run else ("-run_after", "-run"),
        unique=("id",),
        request=page,
        indexed=None if one_run else _INDEXED,
    )
    return replace(found, rows=with_triggers(connection, found.rows))


def _narrow(conditions: Conditions, wanted: InstanceFilter) -> None:
    conditions.any_of("instance.task_id", "task_ids", wanted.task_ids)
    conditions.any_of("instance.map_index", "map_indexes", wanted.map_indexes)
    conditions.states("instance.state", TaskState, wanted.states)
    conditions.any_of("instance.pool", "pools", wanted.pools)
    conditions.any_of("instance.queue", "queues", wanted.queues)
    conditions.any_of("instance.executor", "executors", wanted.executors)
    conditions.any_of("instance.operator", "operators", wanted.operators)
    conditions.any_of(CURRENT_TRY, "try_numbers", wanted.try_numbers)
    conditions.any_of("run.dag_id", "dag_ids", wanted.dag_ids)
    conditions.any_of("run.run_id", "run_ids", wanted.run_ids)
    conditions.any_of("version.number", "version_numbers", wanted.version_numbers)
    for name, column in MATCHED.items():
        conditions.pattern(column, f"{name}_pattern", wanted.patterns.get(name))
        conditions.prefix(column, f"{name}_prefix", wanted.prefixes.get(name))
    conditions.between("run.run_after", "run_after", wanted.run_after)
    conditions.between("run.logical_date", "logical_date", wanted.logical_date)
    conditions.between("instance.started_at", "started", wanted.started)
    conditions.between("instance.ended_at", "ended", wanted.ended)
    conditions.between(_CHANGED, "changed", wanted.changed)
    conditions.between(_DURATION, "duration", wanted.duration)


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
        return with_triggers(connection, found)[0]
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
    return with_triggers(connection, found)


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


def is_over(instance: Mapping[str, Any], attempt: Mapping[str, Any]) -> bool:
    """Tell whether nothing follows in the log of an attempt: one that is deferred or suspended is the same try again.

    Both are rows of this module.
    """
    if attempt["ended_at"] is None:
        return False
    goes_on = instance["goes_on"] or instance["state"] in _SAME_LOG
    return not (goes_on and attempt["try_number"] == instance["try_number"])


def links_of(connection: Connection, instance: Mapping[str, Any], try_number: int | None = None) -> dict[str, str]:
    """Return the addresses of an instance's links by their names, as its newest try made them, or ``try_number``.

    A try that was deferred has several attempts: of each link, what the last one gave.
    """
    wanted = instance["try_number"] if try_number is None else try_number
    found = rows(
        connection,
        """
        SELECT links FROM task_attempt
        WHERE task_instance_id = %(id)s AND month = %(month)s AND try_number = %(try_number)s AND links IS NOT NULL
        ORDER BY queued_at
        """,
        {"id": instance["id"], "month": instance["month"], "try_number": wanted},
    )
    return {name: address for row in found for name, address in row["links"].items()}


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
