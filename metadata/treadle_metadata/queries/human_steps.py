"""Questions that tasks ask people: of a run, or the inbox of all that wait for an answer (index human_step_open)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.conditions import ANYTIME, Between, Conditions
from treadle_metadata.queries.paging import NOT_YET, Page, PageRequest, SortKey, fetch_page
from treadle_metadata.queries.runs import get_run
from treadle_metadata.queries.tries import WITH_TRY, in_its_try
from treadle_metadata.statements import rows
from treadle_metadata.states import FINISHED, TaskState

# The names of the instance come last: none of the question's own hides one of them.
_SELECT: Final[LiteralString] = (
    "step.number, step.try_number AS asked_try, step.subject, step.body, step.options, step.defaults, step.multiple,"
    " step.params, step.assignees, step.asked_at, step.due_at, step.answered_at, step.answered_by, step.chosen,"
    " step.given, step.timed_out, step.withdrawn_at,"
    f" {WITH_TRY}, run.run_id, run.logical_date, run.run_after, run.version_id, dag.display_name AS dag_display_name,"
    " version.number AS version_number, version.created_at AS version_created_at"
)
# Joined by primary keys only.
_SOURCE: Final[LiteralString] = (
    "human_step AS step JOIN task_instance AS instance"
    " ON instance.id = step.task_instance_id AND instance.month = step.month"
    " JOIN dag_run AS run ON run.id = instance.dag_run_id"
    " JOIN dag ON dag.dag_id = run.dag_id JOIN dag_version AS version ON version.id = run.version_id"
)

_SORTS: Final = {
    "created_at": SortKey("step.asked_at", "timestamptz"),
    "ti_id": SortKey("step.task_instance_id", "bigint"),
    "subject": SortKey("step.subject", "text"),
    "responded_at": SortKey(f"coalesce(step.answered_at, {NOT_YET})", "timestamptz"),
    "responded_by_user_name": SortKey("coalesce(step.answered_by, '')", "text"),
    "task_id": SortKey("instance.task_id", "text"),
    "map_index": SortKey("instance.map_index", "int"),
}

_INDEXED: Final = ("created_at",)
"""What may be asked for over many runs."""

# An attempt that was lost with its last try leaves its question behind.
OPEN: Final[LiteralString] = (
    "step.answered_at IS NULL AND instance.state NOT IN ('success', 'failed', 'skipped', 'upstream_failed', 'removed')"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFilter:
    """What questions are wanted. ``dag_id`` and ``run_id`` None mean of all DAGs or runs."""

    dag_id: str | None = None
    run_id: str | None = None
    dag_id_pattern: str | None = None
    task_id: str | None = None
    task_id_pattern: str | None = None
    map_index: int | None = None
    states: Sequence[str] = ()
    answered: bool | None = None
    """False: those that wait for an answer."""
    answered_by: Sequence[str] = ()
    subject: str | None = None
    body: str | None = None
    asked_at: Between = ANYTIME


def list_steps(connection: Connection, wanted: StepFilter, page: PageRequest) -> Page:
    """Return a page of questions, those that were withdrawn apart, the oldest first.

    Raises:
        NotFoundError: ``dag_id`` and ``run_id`` name no run.
    """
    conditions = Conditions()
    conditions.add("step.withdrawn_at IS NULL")
    one_run = wanted.dag_id is not None and wanted.run_id is not None
    if wanted.dag_id is not None and wanted.run_id is not None:
        run = get_run(connection, wanted.dag_id, wanted.run_id)
        conditions.add("instance.dag_run_id = %(dag_run_id)s AND step.month = %(month)s", month=run["month"])
        conditions.parameters["dag_run_id"] = run["id"]
    else:
        conditions.equals("run.dag_id", "dag_id", wanted.dag_id)
        conditions.equals("run.run_id", "run_id", wanted.run_id)
    _narrow(conditions, wanted)
    found = fetch_page(
        connection,
        select=_SELECT,
        source=_SOURCE,
        conditions=conditions,
        sorts=_SORTS,
        default=("created_at",),
        unique=("ti_id",),
        request=page,
        indexed=None if one_run else _INDEXED,
    )
    return replace(found, rows=[in_its_try(row) for row in found.rows])


def _narrow(conditions: Conditions, wanted: StepFilter) -> None:
    if wanted.answered is not None:
        conditions.add("step.answered_at IS NOT NULL" if wanted.answered else OPEN)
    conditions.pattern("run.dag_id", "dag_id_pattern", wanted.dag_id_pattern)
    conditions.equals("instance.task_id", "task_id", wanted.task_id)
    conditions.pattern("instance.task_id", "task_id_pattern", wanted.task_id_pattern)
    conditions.equals("instance.map_index", "map_index", wanted.map_index)
    conditions.states("instance.state", TaskState, wanted.states)
    conditions.any_of("step.answered_by", "answered_by", wanted.answered_by)
    conditions.pattern("step.subject", "subject", wanted.subject)
    conditions.pattern("step.body", "body", wanted.body)
    conditions.between("step.asked_at", "asked_at", wanted.asked_at)


def get_step(connection: Connection, instance: Mapping[str, Any], try_number: int | None = None) -> dict[str, Any]:
    """Return the current question of an instance, or the newest that a try of it asked, withdrawn or not.

    Raises:
        NotFoundError: there is none.
    """
    found = rows(
        connection,
        f"""
        SELECT {_SELECT} FROM {_SOURCE}
        WHERE step.task_instance_id = %(id)s AND step.month = %(month)s
          AND CASE WHEN %(number)s::int IS NULL THEN step.withdrawn_at IS NULL ELSE step.try_number = %(number)s END
        ORDER BY step.number DESC LIMIT 1
        """,
        {"id": instance["id"], "month": instance["month"], "number": try_number},
    )
    if not found:
        name = f"{instance['run_id']}/{instance['task_id']}"
        raise NotFoundError("human step of task instance", name if try_number is None else f"{name}/{try_number}")
    return in_its_try(found[0])


def is_open(row: Mapping[str, Any]) -> bool:
    """Tell whether a question still waits for an answer."""
    return row["answered_at"] is None and row["withdrawn_at"] is None and row["state"] not in FINISHED
