"""Callbacks that the server has run, and deadlines: of one run, or the newest of a DAG or of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.dags import check_dag
from treadle_metadata.queries.runs import get_run
from treadle_metadata.statements import rows

MOST: Final = 1000
"""Rows of one answer, the newest."""

_CALLBACKS: Final = """
    SELECT callback.id, run.dag_id, run.run_id, instance.task_id, instance.map_index, callback.event, callback.state,
           callback.facts, callback.created_at, callback.started_at, callback.ended_at, callback.hostname,
           callback.error, callback.log_path, run.month
    FROM callback JOIN dag_run AS run ON run.id = callback.dag_run_id
    LEFT JOIN task_instance AS instance ON instance.month = run.month AND instance.id = callback.task_instance_id
"""

_DEADLINES: Final = """
    SELECT deadline.id, run.dag_id, run.run_id, run.state AS run_state, deadline.name, deadline.reference,
           deadline.base_at, deadline.due_at, deadline.missed_at,
           version.deadlines -> deadline.position ->> 'callback' AS callback
    FROM deadline JOIN dag_run AS run ON run.id = deadline.dag_run_id
                  JOIN dag_version AS version ON version.id = run.version_id
"""


def callbacks_of_run(connection: Connection, dag_id: str, run_id: str) -> Sequence[Mapping[str, Any]]:
    """Return the callbacks of a run, the oldest first.

    Raises:
        NotFoundError: there is no such run.
    """
    run = get_run(connection, dag_id, run_id)
    sql = _CALLBACKS + " WHERE callback.dag_run_id = %(run)s ORDER BY callback.id LIMIT %(most)s"
    return rows(connection, sql, {"run": run["id"], "most": MOST})


def newest_callbacks(connection: Connection, dag_id: str | None, states: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    """Return the newest callbacks of a DAG or of all, in one of ``states`` if any are given.

    Raises:
        NotFoundError: there is no such DAG.
    """
    if dag_id is not None:
        check_dag(connection, dag_id)
    sql = (
        _CALLBACKS + " WHERE (%(dag_id)s::text IS NULL OR run.dag_id = %(dag_id)s)"
        " AND (%(states)s::text[] = '{}' OR callback.state = ANY(%(states)s))"
        " ORDER BY callback.id DESC LIMIT %(most)s"
    )
    return rows(connection, sql, {"dag_id": dag_id, "states": list(states), "most": MOST})


def get_callback(
    connection: Connection, callback_id: int, *, dag_id: str | None = None, run_id: str | None = None
) -> Mapping[str, Any]:
    """Return one callback, of that run if one is named.

    Raises:
        NotFoundError: there is no such callback.
    """
    found = rows(connection, _CALLBACKS + " WHERE callback.id = %(id)s", {"id": callback_id})
    if not found or (dag_id, run_id) not in ((None, None), (found[0]["dag_id"], found[0]["run_id"])):
        raise NotFoundError("callback", callback_id)
    return found[0]


def failed_callback(connection: Connection, dag_run_id: int) -> tuple[int, str] | None:
    """Return the number and the error of the newest callback of a run that failed, if one did."""
    found = rows(
        connection,
        "SELECT id, error ->> 'message' AS message FROM callback"
        " WHERE dag_run_id = %(run)s AND state = 'failed' ORDER BY id DESC LIMIT 1",
        {"run": dag_run_id},
    )
    return (found[0]["id"], str(found[0]["message"]).partition("\n")[0]) if found else None


def deadlines_of_run(connection: Connection, dag_id: str, run_id: str) -> Sequence[Mapping[str, Any]]:
    """Return the deadlines of a run that it has still to keep or has missed, the earliest first.

    Raises:
        NotFoundError: there is no such run.
    """
    run = get_run(connection, dag_id, run_id)
    sql = _DEADLINES + " WHERE deadline.dag_run_id = %(run)s ORDER BY deadline.due_at, deadline.id LIMIT %(most)s"
    return rows(connection, sql, {"run": run["id"], "most": MOST})


def newest_deadlines(connection: Connection, dag_id: str | None, *, missed: bool) -> Sequence[Mapping[str, Any]]:
    """Return the newest deadlines of a DAG or of all; ``missed`` leaves out those that may still be kept.

    Raises:
        NotFoundError: there is no such DAG.
    """
    if dag_id is not None:
        check_dag(connection, dag_id)
    sql = (
        _DEADLINES + " WHERE (%(dag_id)s::text IS NULL OR run.dag_id = %(dag_id)s)"
        " AND (NOT %(missed)s OR deadline.missed_at IS NOT NULL)"
        " ORDER BY deadline.id DESC LIMIT %(most)s"
    )
    return rows(connection, sql, {"dag_id": dag_id, "missed": missed, "most": MOST})
