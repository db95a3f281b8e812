"""Making runs by hand: what the REST API, the CLI and backfills call.

Runs of schedules are made by the scheduler's ``create_runs`` duty.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from treadle import document as documents
from treadle.assets import LONGEST_PARTITION_KEY, is_partition_key
from treadle.document import DagDocument
from treadle.partition_keys import partition_of
from treadle.timetables.base import DataInterval, InvalidSchedule
from treadle.timetables.factory import from_document
from treadle_metadata.connection import RUNS, WAKE, notify
from treadle_metadata.errors import ConflictError, InvalidRequestError, NotFoundError, shown
from treadle_metadata.identifiers import checked_run_id, month_of
from treadle_metadata.parameters import checked_conf, conf_warnings
from treadle_metadata.queries.dags import no_such_dag
from treadle_metadata.statements import rows
from treadle_metadata.transitions import runs


def trigger_run(
    connection: Connection,
    dag_id: str,
    *,
    run_id: str | None = None,
    logical_date: datetime | None = None,
    data_interval: tuple[datetime, datetime] | None = None,
    run_after: datetime | None = None,
    conf: Mapping[str, Any] | None = None,
    note: str | None = None,
    triggered_by: str = "rest_api",
    user: str | None = None,
    cron_style: str = "trigger",
    run_type: str = "manual",
    partition_key: str | None = None,
    now: datetime,
) -> Mapping[str, Any]:
    """Make one manual run (or one of ``run_type``), queued, and wake the schedulers; return its row of ``dag_run``.

    ``conf`` is checked against the DAG's params; ``conf_warnings`` of the row are sentences on keys that nearly name
    one. Without ``logical_date`` the run has none. ``run_after`` defaults to now, the data interval to what the DAG's
    timetable says of a manual run, with the setting ``cron_style``.

    Raises:
        NotFoundError: there is no such DAG.
        ConflictError: the DAG is gone from its file, or it has a run with this id or logical date.
        InvalidRequestError: the run id or ``conf`` cannot be used.
    """
    dag, document = newest_version(connection, dag_id)
    checked_conf(document, conf or {})
    run_after = run_after or now
    if data_interval is None and logical_date is not None:
        data_interval = _inferred_interval(document, logical_date, cron_style)
    new = {
        "dag_id": dag_id,
        "run_id": _run_id(run_type, run_after) if run_id is None else checked_run_id(run_id),
        "version_id": dag["version_id"],
        "run_type": run_type,
        "logical_date": logical_date,
        "interval_start": data_interval and data_interval[0],
        "interval_end": data_interval and data_interval[1],
        "run_after": run_after,
        "conf": conf,
        "triggered_by": triggered_by,
        "triggering_user": user,
        "note": note,
        **partition_of(document.schedule, logical_date),
    }
    new |= {} if partition_key is None else {"partition_key": checked_partition_key(partition_key)}
    return {**_made(connection, new, now), "conf_warnings": conf_warnings(document, conf or {})}


def _made(connection: Connection, new: Mapping[str, Any], now: datetime) -> Mapping[str, Any]:
    """Insert a run, wake the schedulers, and return its row."""
    made = runs.insert_runs(connection, [new], month=month_of(now), now=now)
    if not made:
        raise _conflict(connection, new)
    notify(connection, WAKE, RUNS)
    return made[0]


def _inferred_interval(document: DagDocument, logical_date: datetime, cron_style: str) -> tuple[datetime, datetime]:
    timetable = from_document(document.schedule, default_style=cron_style)
    try:
        inferred: DataInterval = timetable.infer_manual_data_interval(run_after=logical_date)
    except InvalidSchedule as error:
        raise InvalidRequestError(
            f"DAG {shown(document.dag_id)} gives no data interval for {logical_date.isoformat()}: {error} "
            "Give data_interval_start and data_interval_end, or no logical date"
        ) from error
    return inferred.start, inferred.end


def newest_version(connection: Connection, dag_id: str) -> tuple[Mapping[str, Any], DagDocument]:
    """Return a DAG's row and the document of its newest version.

    Raises:
        NotFoundError: there is no such DAG.
        ConflictError: the DAG is gone from its file.
    """
    found = rows(
        connection,
        """
        SELECT dag.*, version.document FROM dag JOIN dag_version AS version ON version.id = dag.version_id
        WHERE dag.dag_id = %(dag_id)s
        """,
        {"dag_id": dag_id},
    )
    if not found:
        raise no_such_dag(connection, dag_id)
    if not found[0]["is_active"]:
        raise ConflictError(f"DAG {shown(dag_id)} is gone from {found[0]['file']}; it can have no new run")
    return found[0], documents.loads(found[0]["document"])


def find_run(connection: Connection, dag_id: str, run_id: str) -> Mapping[str, Any]:
    """Return one run's row.

    Raises:
        NotFoundError: there is no such run.
    """
    found = rows(
        connection,
        "SELECT * FROM dag_run WHERE dag_id = %(dag_id)s AND run_id = %(run_id)s",
        {"dag_id": dag_id, "run_id": run_id},
    )
    if not found:
        raise NotFoundError(f"run of DAG {shown(dag_id)}", run_id)
    return found[0]


def lock_run(connection: Connection, dag_id: str, run_id: str) -> Mapping[str, Any]:
    """Return one run's row as it is now, locked: no scheduler decides upon it until the transaction ends.

    Raises:
        NotFoundError: there is no such run.
    """
    found = rows(
        connection,
        "SELECT * FROM dag_run WHERE dag_id = %(dag_id)s AND run_id = %(run_id)s FOR NO KEY UPDATE",
        {"dag_id": dag_id, "run_id": run_id},
    )
    return found[0] if found else find_run(connection, dag_id, run_id)


def checked_partition_key(key: str) -> str:
    """Return a partition key that can be stored.

    Raises:
        InvalidRequestError: it is empty, longer than 250 characters or holds a NUL character.
    """
    if not is_partition_key(key):
        raise InvalidRequestError(
            f"partition key {shown(key)} cannot be used: expected 1 to {LONGEST_PARTITION_KEY} characters, no NUL"
        )
    return key


def _run_id(run_type: str, run_after: datetime) -> str:
    return f"{run_type}__{run_after.isoformat()}_{secrets.token_hex(4)}"


def _conflict(connection: Connection, new: Mapping[str, Any]) -> ConflictError:
    """Return the error that names which run is in the way, and by what: its id or its logical date."""
    there = rows(
        connection,
        """
        SELECT run_id, logical_date, state FROM dag_run
        WHERE dag_id = %(dag_id)s AND (run_id = %(run_id)s OR logical_date = %(logical_date)s)
        ORDER BY run_id = %(run_id)s DESC LIMIT 1
        """,
        new,
    )
    if there and there[0]["run_id"] != new["run_id"]:
        return ConflictError(
            f"DAG {shown(new['dag_id'])} has run {shown(there[0]['run_id'])} for the logical date "
            f"{new['logical_date'].isoformat()} already, and it is {there[0]['state']}; "
            "clear it to let it run again, or leave the logical date out",
            field="logical_date",
        )
    return ConflictError(
        f"DAG {shown(new['dag_id'])} has a run with id {shown(new['run_id'])} already", field="dag_run_id"
    )


def checked_interval(start: datetime | None, end: datetime | None) -> tuple[datetime, datetime] | None:
    """Return a data interval given as two optional instants.

    Raises:
        InvalidRequestError: one of them is missing, or the end comes before the start.
    """
    if start is None and end is None:
        return None
    if start is None or end is None:
        raise InvalidRequestError("a data interval needs both data_interval_start and data_interval_end")
    if end < start:
        raise InvalidRequestError(f"data_interval_end {end.isoformat()} comes before its start {start.isoformat()}")
    return start, end
