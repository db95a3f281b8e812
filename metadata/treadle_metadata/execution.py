"""The server's side of the Execution API: what becomes of the reports and questions of runner hosts.

Called by ``treadle_executors.execution_api`` in the scheduler's process. Each function takes a batch and a
connection; the caller's transaction makes a finish, its XComs and its run's wake-up one change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.resources import delete_variable, find_connection, find_variable, set_variable
from treadle_metadata.statements import rows
from treadle_metadata.states import TaskState
from treadle_metadata.transitions import attempts, runs
from treadle_metadata.xcom_answers import found_xcoms

Report = Mapping[str, Any]
"""One item of a batch: a StartReport, FinishReport or Heartbeat of ``treadle_worker.protocol``."""


def record_starts(
    connection: Connection, reports: Sequence[Report], *, now: datetime, lease_until: datetime
) -> list[dict[str, Any]]:
    """Record that attempts start, and answer which of them may run their code (StartAnswer)."""
    accepted: set[UUID] = set()
    for month, batch in _by_month(reports):
        accepted |= attempts.start(connection, batch, month=month, now=now, lease_until=lease_until)
    answers = []
    for report in reports:
        yes = UUID(report["attempt_id"]) in accepted
        reason = "" if yes else "the attempt is no longer queued: it was cleared, marked, or taken over by a newer one"
        answers.append({"attempt_id": report["attempt_id"], "accepted": yes, "reason": reason})
    return answers


def record_finishes(connection: Connection, reports: Sequence[Report], *, now: datetime) -> set[str]:
    """Record how attempts ended, store what they pushed, and wake their runs; return the ids that were accepted."""
    accepted: set[str] = set()
    dues: dict[tuple[int, datetime], None] = {}
    for month, batch in _by_month(reports):
        moved = attempts.finish(connection, batch, month=month)
        ids = {str(row[0]) for row in moved}
        # What an attempt pushed that was cleared meanwhile is not the result of its instance.
        kept = {str(row[0]) for row in moved if row[3] != TaskState.NONE}
        pushed = [
            (report["task_instance_id"], one)
            for report in batch
            if report["attempt_id"] in kept
            for one in report["xcoms"]
        ]
        attempts.push_xcoms(connection, pushed, month=month, now=now)
        for _, _, dag_run_id, _, next_retry_at in moved:
            dues[dag_run_id, now] = None
            if next_retry_at is not None:
                dues[dag_run_id, next_retry_at] = None
        accepted |= ids
    runs.wake(connection, list(dues))
    return accepted


def record_heartbeats(connection: Connection, beats: Sequence[Report], *, lease_until: datetime) -> set[str]:
    """Renew leases; return the ids of the attempts that are still theirs. The others must end at once."""
    ours: set[UUID] = set()
    for month, batch in _by_month(beats):
        ours |= attempts.beat(connection, batch, month=month, lease_until=lease_until)
    return {str(one) for one in ours}


def lose(connection: Connection, lost: Sequence[tuple[UUID, int, date]], reason: str, *, now: datetime) -> set[str]:
    """Charge attempts (id, instance id, month) whose worker is gone, once each (case A47); return those charged."""
    reports = [
        {
            "attempt_id": str(attempt_id),
            "task_instance_id": instance,
            "month": month,
            "outcome": "failed",
            "ended_at": now,
            "error": {"kind": "lost", "type": "WorkerLost", "message": reason},
            "xcoms": [],
        }
        for attempt_id, instance, month in lost
    ]
    return record_finishes(connection, reports, now=now)


def answer_request(connection: Connection, request: Report, *, crypto: Crypto) -> Any:
    """Answer one question of a task child (``treadle_worker.protocol.Request``).

    Raises:
        InvalidRequestError: the attempt is over, or the question is unknown.
    """
    run = _run_of(connection, request)
    args = request["args"]
    match request["op"]:
        case "get_xcoms":
            return [found_xcoms(connection, run, item) for item in args["items"]]
        case "get_variable":
            return find_variable(connection, args["key"], crypto=crypto)
        case "set_variable":
            return set_variable(connection, args["key"], args["value"], args.get("description"), crypto=crypto)
        case "delete_variable":
            return delete_variable(connection, args["key"])
        case "get_connection":
            return find_connection(connection, args["conn_id"], crypto=crypto)
        case "get_previous_success":
            return _previous_success(connection, run)
        case other:
            raise InvalidRequestError(f"a task asked for {other!r}, which this server does not know")


def _run_of(connection: Connection, request: Report) -> Mapping[str, Any]:
    found = rows(
        connection,
        """
        SELECT run.id, run.dag_id, run.run_id, run.month, run.logical_date, run.run_after
        FROM task_instance AS instance JOIN dag_run AS run ON run.id = instance.dag_run_id
        WHERE instance.id = %(id)s AND instance.month = %(month)s AND instance.attempt_id = %(attempt_id)s
          AND instance.state = 'running'
        """,
        {"id": request["task_instance_id"], "month": request["month"], "attempt_id": request["attempt_id"]},
    )
    if not found:
        raise InvalidRequestError(f"attempt {request['attempt_id']} is over; a running attempt may ask, no other")
    return found[0]


def _previous_success(connection: Connection, run: Mapping[str, Any]) -> dict[str, str | None]:
    names = ("data_interval_start", "data_interval_end", "start_date", "end_date")
    found = rows(
        connection,
        """
        SELECT interval_start, interval_end, started_at, ended_at FROM dag_run
        WHERE dag_id = %(dag_id)s AND state = 'success' AND logical_date < %(logical_date)s
        ORDER BY logical_date DESC LIMIT 1
        """,
        {"dag_id": run["dag_id"], "logical_date": run["logical_date"]},
    )
    values = list(found[0].values()) if found else [None] * 4
    return {name: value and value.isoformat() for name, value in zip(names, values, strict=True)}


def _by_month(reports: Sequence[Report]) -> list[tuple[date, list[Report]]]:
    def month(report: Report) -> date:
        value = report["month"]
        return value if isinstance(value, date) else date.fromisoformat(value)

    return [(key, list(batch)) for key, batch in groupby(sorted(reports, key=month), key=month)]
