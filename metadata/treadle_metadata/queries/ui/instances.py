"""The instances of one mapped task in a run, page by page, and the states around one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.queries.conditions import Conditions
from treadle_metadata.queries.paging import Page, PageRequest, SortKey, fetch_page
from treadle_metadata.queries.tries import CURRENT_TRY
from treadle_metadata.statements import tuples
from treadle_metadata.states import TaskState

_SELECT: Final[LiteralString] = f"""
    instance.map_index, instance.state, {CURRENT_TRY} AS try_number,
    instance.max_tries, instance.rendered_map_index,
    instance.scheduled_at, instance.queued_at, instance.started_at, instance.ended_at, instance.next_retry_at,
    instance.hostname, instance.note IS NOT NULL AS has_note, instance.waiting_for
"""
_SORTS: Final = {"map_index": SortKey("instance.map_index", "int")}

_AROUND: Final[LiteralString] = """
    SELECT task_id, state, count(*) FROM task_instance
    WHERE dag_run_id = %(run)s AND month = %(month)s AND task_id = ANY(%(task_ids)s)
    GROUP BY task_id, state
"""


def list_instances(
    connection: Connection, run: Mapping[str, Any], task_id: str, page: PageRequest, *, states: Sequence[str] = ()
) -> Page:
    """Return a page of the instances of a task in ``run`` (a row of ``run_pages``), by map index."""
    conditions = Conditions()
    conditions.add("instance.dag_run_id = %(run)s AND instance.month = %(month)s", run=run["id"], month=run["month"])
    conditions.equals("instance.task_id", "task_id", task_id)
    conditions.states("instance.state", TaskState, states)
    return fetch_page(
        connection,
        select=_SELECT,
        source="task_instance AS instance",
        conditions=conditions,
        sorts=_SORTS,
        default=("map_index",),
        unique=("map_index",),
        request=page,
    )


def states_of(connection: Connection, run: Mapping[str, Any], task_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return, of each of these tasks that has instances in ``run``, how many are in which state."""
    found: dict[str, dict[str, int]] = {}
    parameters = {"run": run["id"], "month": run["month"], "task_ids": list(task_ids)}
    for task_id, state, number in tuples(connection, _AROUND, parameters):
        found.setdefault(task_id, {})[state] = number
    return found
