"""The server's side of the Execution API: what becomes of the reports and questions of runner hosts.

Called by ``treadle_executors.execution_api`` in the scheduler's process. Each function takes a batch and a
connection; the caller's transaction makes a finish, its XComs and its run's wake-up one change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata import audit, callbacks, commits, extra_links, human_steps, steps, waits
from treadle_metadata.assets import answers, emitting
from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.journal_opening import opened_with, opening_with
from treadle_metadata.lane import Statement
from treadle_metadata.resources import delete_variable, find_connection, find_variable, set_variable
from treadle_metadata.statements import rows, tuples_of_each
from treadle_metadata.states import TaskState
from treadle_metadata.transitions import attempts, runs
from treadle_metadata.transitions import callbacks as transitions_of_callbacks
from treadle_metadata.xcom_answers import found_xcoms

CALLBACK: Final = "callback"
"""The ``subject`` of reports that are about a callback; reports about attempts of tasks need not name theirs."""

_GOES_ON: Final = (TaskState.NONE, TaskState.SCHEDULED, TaskState.UP_FOR_RESCHEDULE)
_TOLD: Final = (TaskState.FAILED, TaskState.UP_FOR_RETRY)

_ANSWERS: Final = {
    op: answer
    for questions, answer in (
        (steps.QUESTIONS, steps.answer),
        (waits.QUESTIONS, waits.answer),
        (human_steps.QUESTIONS, human_steps.answer),
    )
    for op in questions
}
"""Who answers the questions of tasks that have modules of their own."""

Place = tuple[UUID, int, date]
"""An attempt, with its instance's id and month."""

Report = Mapping[str, Any]
"""One item of a batch: a StartReport, FinishReport or Heartbeat of ``treadle_worker.protocol``."""


def record_starts(
    connection: Connection,
    reports: Sequence[Report],
    *,
    now: datetime,
    lease_until: datetime,
    crypto: Crypto | None = None,
) -> list[dict[str, Any]]:
    """Record that attempts start, and answer which of them may run their code (StartAnswer).

    With ``crypto`` the journals of those that name a ``transaction`` come along.
    """
    of_tasks, of_callbacks = _by_kind(reports)
    accepted: set[UUID] = set()
    journals: dict[str, dict[str, Any]] = {}
    for month, batch in _by_month(of_tasks):
        opening = [report for report in batch if "transaction" in report and crypto is not None]
        further = [opening_with(opening, month=month, now=now)] if opening else []
        started, found = attempts.start_and(connection, batch, further, month=month, now=now, lease_until=lease_until)
        accepted |= started
        if found and crypto is not None:
            journals |= opened_with(opening, found[0], crypto=crypto)
    if of_callbacks:
        accepted |= transitions_of_callbacks.start(connection, of_callbacks, lease_until=lease_until)
    answers = []
    for report in reports:
        yes = UUID(report["attempt_id"]) in accepted
        reason = "" if yes else "the attempt is no longer queued: it was cleared, marked, or taken over by a newer one"
        answers.append({"attempt_id": report["attempt_id"], "accepted": yes, "reason": reason})
        if yes and report["attempt_id"] in journals:
            answers[-1]["journal"] = journals[report["attempt_id"]]
    return answers


def record_finishes(
    connection: Connection, reports: Sequence[Report], *, now: datetime, further: Sequence[Statement] = ()
) -> set[str]:
    """Record how attempts ended, store what they pushed, and wake their runs; return the ids that were accepted.

    ``further`` statements, which tell others of it, are run along with the first of that.
    """
    reports, of_callbacks = _by_kind(reports)
    accepted: set[str] = callbacks.finish(connection, of_callbacks, now=now) if of_callbacks else set()
    retries: dict[tuple[int, datetime], None] = {}
    told: list[emitting.NewEvent] = []
    for month, told_of in _by_month(reports):
        batch = commits.honoured(connection, told_of, month=month)
        moved = steps.woken_early(
            connection,
            batch,
            attempts.finish(connection, batch, month=month, now=now, further=further),
            month=month,
            now=now,
        )
        further = ()
        moved = human_steps.woken_early(connection, batch, moved, month=month, now=now)
        waits.forget_pokes(connection, batch, month=month)
        ids = {str(row[0]) for row in moved}
        extra_links.keep(connection, batch, ids, month=month)
        # What an attempt pushed that was cleared or handed back meanwhile is not the result of its instance.
        kept = {str(row[0]) for row in moved if row[3] not in _GOES_ON}
        pushed = [
            (report["task_instance_id"], one)
            for report in batch
            if report["attempt_id"] in kept
            for one in report["xcoms"]
        ]
        attempts.push_xcoms(connection, pushed, month=month, now=now)
        called = {report["attempt_id"] for report in batch if report.get("called_back")}
        untold = [row[0] for row in moved if row[3] in _TOLD and str(row[0]) not in called]
        transitions_of_callbacks.tell_of_attempts(connection, untold, month=month, now=now)
        succeeded = {str(row[0]) for row in moved if row[3] == TaskState.SUCCESS}
        of_these = [report for report in batch if report["attempt_id"] in succeeded]
        told += emitting.reported(connection, of_these, month=month)
        retries |= {(row[2], row[4]): None for row in moved if row[4] is not None}
        accepted |= ids
    emitting.emit(connection, told, now=now)
    runs.wake_to_retry(connection, list(retries))
    if further and accepted:
        tuples_of_each(connection, *further)
    return accepted


def record_heartbeats(connection: Connection, beats: Sequence[Report], *, lease_until: datetime) -> set[str]:
    """Renew leases; return the ids of the attempts that are still theirs. The others must end at once."""
    of_tasks, of_callbacks = _by_kind(beats)
    ours: set[UUID] = set()
    for month, batch in _by_month(of_tasks):
        ours |= attempts.beat(connection, batch, month=month, lease_until=lease_until)
    if of_callbacks:
        ids = [one["attempt_id"] for one in of_callbacks]
        ours |= transitions_of_callbacks.beat(connection, ids, lease_until=lease_until)
    return {str(one) for one in ours}


def lose(connection: Connection, lost: Sequence[Place], reason: str, *, now: datetime) -> set[str]:
    """Charge attempts whose worker is gone, once each (case A47); return those charged."""
    return _end_for_worker(connection, lost, "failed", ("lost", "WorkerLost", reason), now=now)


def hand_back(connection: Connection, attempt_ids: Sequence[Place], reason: str, *, now: datetime) -> set[str]:
    """Take attempts back from a worker that stops in order: the same try will be made again; return those taken."""
    return _end_for_worker(connection, attempt_ids, "handed_back", ("terminated", "HandedBack", reason), now=now)


def take_back(connection: Connection, queued: Sequence[Place]) -> None:
    """Move attempts that never started back to scheduled, free of charge (cases A52, A71)."""
    for month, batch in groupby(sorted(queued, key=itemgetter(2)), key=itemgetter(2)):
        listed = list(batch)
        attempts.take_back(connection, [one[1] for one in listed], [one[0] for one in listed], month=month)


def _end_for_worker(
    connection: Connection,
    attempt_ids: Sequence[Place],
    outcome: str,
    error: tuple[str, str, str],
    *,
    now: datetime,
) -> set[str]:
    reports = [
        {
            "attempt_id": str(attempt_id),
            "task_instance_id": instance,
            "month": month,
            "outcome": outcome,
            "ended_at": now,
            "error": dict(zip(("kind", "type", "message"), error, strict=True)),
            "xcoms": [],
        }
        for attempt_id, instance, month in attempt_ids
    ]
    return record_finishes(connection, reports, now=now)


def answer_request(connection: Connection, request: Report, *, crypto: Crypto, now: datetime) -> Any:
    """Answer one question of a task child or callback (``treadle_worker.protocol.Request``).

    Raises:
        InvalidRequestError: the attempt is over, or the question is unknown.
    """
    if request["op"] == "take_callbacks":
        return transitions_of_callbacks.take_for_attempt(connection, request, now=now)
    if request["op"] in _ANSWERS:
        return _ANSWERS[request["op"]](connection, request, crypto=crypto, now=now)
    run = _run_of(connection, request)
    args = request["args"]
    match request["op"]:
        case "get_xcoms":
            return [found_xcoms(connection, run, item) for item in args["items"]]
        case "get_variable":
            return find_variable(connection, args["key"], crypto=crypto, team=run["team"])
        case "set_variable" | "delete_variable":
            return _change_variable(connection, request, run, crypto=crypto, now=now)
        case "get_connection":
            return find_connection(connection, args["conn_id"], crypto=crypto, team=run["team"])
        case "get_previous_success":
            return _previous_success(connection, run)
        case "get_asset" | "get_asset_events" | "get_triggering_asset_events" as op:
            return answers.answer(connection, op, args, run)
        case other:
            raise InvalidRequestError(f"a task asked for {other!r}, which this server does not know")


def _run_of(connection: Connection, request: Report) -> Mapping[str, Any]:
    found = rows(
        connection,
        """
        SELECT run.id, run.dag_id, run.run_id, run.month, run.logical_date, run.run_after, instance.task_id,
               coalesce(dag.team, '') AS team
        FROM task_instance AS instance JOIN dag_run AS run ON run.id = instance.dag_run_id
        JOIN dag ON dag.dag_id = run.dag_id
        WHERE instance.id = %(id)s AND instance.month = %(month)s AND instance.attempt_id = %(attempt_id)s
          AND instance.state = 'running'
        """,
        {"id": request["task_instance_id"], "month": request["month"], "attempt_id": request["attempt_id"]},
    )
    of_callback = None if found else callbacks.run_of(connection, request["attempt_id"])
    if not found and of_callback is None:
        raise InvalidRequestError(f"attempt {request['attempt_id']} is over; a running attempt may ask, no other")
    return of_callback or found[0]


def _change_variable(
    connection: Connection, request: Report, run: Mapping[str, Any], *, crypto: Crypto, now: datetime
) -> bool | None:
    """Set or delete a variable of the run's team, and record which task did; return whether one was deleted."""
    args, team, done = request["args"], run["team"], None
    if request["op"] == "set_variable":
        set_variable(connection, args["key"], args["value"], args.get("description"), crypto=crypto, team=team)
    else:
        done = delete_variable(connection, args["key"], team=team)
    audit.record(
        connection,
        actor=f"task:{run['task_id'] or 'callback'}",
        event=request["op"],
        subject=args["key"],
        dag_id=run["dag_id"],
        run_id=run["run_id"],
        task_id=run["task_id"],
        now=now,
    )
    return done


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


def _by_kind(reports: Sequence[Report]) -> tuple[Sequence[Report], Sequence[Report]]:
    """Return what is about attempts of tasks, and what is about callbacks."""
    of_callbacks = [report for report in reports if report.get("subject") == CALLBACK]
    if not of_callbacks:
        return reports, of_callbacks
    return [report for report in reports if report.get("subject") != CALLBACK], of_callbacks


def _by_month(reports: Sequence[Report]) -> list[tuple[date, list[Report]]]:
    def month(report: Report) -> date:
        value = report["month"]
        return value if isinstance(value, date) else date.fromisoformat(value)

    return [(key, list(batch)) for key, batch in groupby(sorted(reports, key=month), key=month)]
