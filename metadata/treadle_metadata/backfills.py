"""Backfills: the runs of a past range of dates, made at once and started within the backfill's own limit.

All runs are queued when the backfill is made, so that what it will do is visible; the ``start_runs`` duty starts them
one by one as others end, never in batches (case A13), and never more than ``max_active_runs`` (case A17).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection

from treadle.document import DagDocument
from treadle.partition_keys import partition_of
from treadle.timetables.base import DagRunInfo, DataInterval, InvalidSchedule, TimeRestriction
from treadle.timetables.factory import from_document
from treadle_metadata.clearing import Selection, clear
from treadle_metadata.connection import RUNS, WAKE, notify
from treadle_metadata.endings import end_runs
from treadle_metadata.errors import ConflictError, InvalidRequestError, NotFoundError, shown
from treadle_metadata.identifiers import month_of
from treadle_metadata.parameters import checked_conf
from treadle_metadata.runs import newest_version
from treadle_metadata.statements import execute, rows
from treadle_metadata.states import RunState
from treadle_metadata.transitions import runs

MOST_RUNS: Final = 10_000
REPROCESS: Final = ("none", "failed", "completed")


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One date of a backfill. ``action``: create, rerun (an existing run is cleared), or skip with its reason."""

    logical_date: datetime
    data_interval_start: datetime
    data_interval_end: datetime
    action: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Backfill:
    """A backfill as made (``id``) or as previewed (``id`` None), with every date it covers."""

    id: int | None
    planned: tuple[PlannedRun, ...]


def create(
    connection: Connection,
    dag_id: str,
    from_date: datetime,
    to_date: datetime,
    *,
    conf: Mapping[str, Any] | None = None,
    run_backwards: bool = False,
    reprocess_behavior: str = "none",
    max_active_runs: int = 10,
    dry_run: bool = False,
    cron_style: str = "trigger",
    latest: bool | None = None,
    default_latest: bool = False,
    user: str | None = None,
    now: datetime,
) -> Backfill:
    """Make a backfill over the schedule's dates from ``from_date`` to ``to_date``, both included.

    ``reprocess_behavior`` says what becomes of dates that have a run: ``none`` leaves it, ``failed`` clears a failed
    one, ``completed`` clears any finished one; with ``latest`` those move to the DAG's newest version (as in
    ``clearing.clear``; ``default_latest`` is the setting). New runs have it anyway.

    Raises:
        NotFoundError: there is no such DAG.
        InvalidRequestError: the dates, the limit or the conf cannot be used, or the DAG has no such schedule.
        ConflictError: another backfill of this DAG is under way.
    """
    dag, document = newest_version(connection, dag_id)
    checked_conf(document, conf or {})
    _check(document, from_date, to_date, reprocess_behavior, max_active_runs)
    _check_order(document, run_backwards)
    infos = _dates(document, from_date, to_date, cron_style, now)
    existing = _existing(connection, dag_id, infos)
    planned = tuple(_plan(info, existing.get(info.logical_date), reprocess_behavior) for info in infos)
    if dry_run:
        return Backfill(None, planned)
    if not planned:
        raise _nothing_to_fill(dag_id, from_date, to_date)
    facts = {"dag_id": dag_id, "from_date": from_date, "to_date": to_date, "conf": json.dumps(conf or {})}
    facts |= {"run_backwards": run_backwards, "reprocess": reprocess_behavior, "max_active_runs": max_active_runs}
    facts |= {"user": user, "now": now}
    again = [existing[one.logical_date] for one in planned if one.action == "rerun"]
    made = [info for info, one in zip(infos, planned, strict=True) if one.action == "create"]
    backfill_id = _insert(connection, facts)
    new = [_row(dag, document, info, backfill_id, conf, user) for info in made]
    runs.insert_runs(connection, new, month=month_of(now), now=now)
    _rerun(connection, dag_id, again, backfill_id, latest, default_latest, now)
    notify(connection, WAKE, RUNS)
    return Backfill(backfill_id, planned)


def _check(document: DagDocument, from_date: datetime, to_date: datetime, reprocess: str, max_active_runs: int) -> None:
    if to_date < from_date:
        raise InvalidRequestError(
            f"to_date {to_date.isoformat()} comes before from_date {from_date.isoformat()}", field="to_date"
        )
    if reprocess not in REPROCESS:
        raise InvalidRequestError(f"reprocess_behavior is {shown(reprocess)}, expected one of {', '.join(REPROCESS)}")
    if max_active_runs < 1:
        raise InvalidRequestError(f"max_active_runs is {max_active_runs}, expected 1 or more", field="max_active_runs")
    if document.schedule.kind not in ("cron", "delta", "events", "custom") or not document.schedule.periodic:
        raise InvalidRequestError(
            f"DAG {shown(document.dag_id)} has no dates to fill: its schedule is {document.schedule.kind!r}, "
            "expected a cron expression, a timedelta, events or a periodic timetable of your own"
        )


def _check_order(document: DagDocument, run_backwards: bool) -> None:
    waiting = [task.task_id for task in document.tasks if task.waits_for_past]
    if run_backwards and waiting:
        raise InvalidRequestError(
            f"DAG {shown(document.dag_id)} cannot be filled backwards: "
            f"its task {shown(waiting[0])} waits for the run before",
            field="run_backwards",
        )


def _dates(
    document: DagDocument, from_date: datetime, to_date: datetime, cron_style: str, now: datetime
) -> list[DagRunInfo]:
    timetable = from_document(document.schedule, default_style=cron_style)
    restriction = TimeRestriction(earliest=from_date, latest=to_date, catchup=True)
    infos: list[DagRunInfo] = []
    last: DataInterval | None = None
    while len(infos) < MOST_RUNS:
        try:
            info = timetable.next_dagrun_info(last_automated_data_interval=last, restriction=restriction, now=now)
        except InvalidSchedule as error:
            raise InvalidRequestError(f"DAG {shown(document.dag_id)} gives no dates: {error}") from error
        if info is None or info.run_after > now:
            return infos
        infos.append(info)
        last = info.data_interval
    raise InvalidRequestError(
        f"the range {from_date.isoformat()} to {to_date.isoformat()} has more than {MOST_RUNS} dates; fill it in parts"
    )


def _existing(connection: Connection, dag_id: str, infos: Sequence[DagRunInfo]) -> dict[datetime, Mapping[str, Any]]:
    found = rows(
        connection,
        "SELECT * FROM dag_run WHERE dag_id = %(dag_id)s AND logical_date = ANY(%(dates)s)",
        {"dag_id": dag_id, "dates": [info.logical_date for info in infos]},
    )
    return {row["logical_date"]: row for row in found}


def _plan(info: DagRunInfo, existing: Mapping[str, Any] | None, reprocess: str) -> PlannedRun:
    start, end = info.data_interval.start, info.data_interval.end
    if existing is None:
        return PlannedRun(info.logical_date, start, end, "create")
    rerun = {"none": (), "failed": ("failed",), "completed": ("success", "failed")}[reprocess]
    if existing["state"] in rerun:
        return PlannedRun(info.logical_date, start, end, "rerun", f"run {existing['run_id']} is {existing['state']}")
    return PlannedRun(
        info.logical_date, start, end, "skip", f"run {existing['run_id']} is there already and is {existing['state']}"
    )


def _nothing_to_fill(dag_id: str, from_date: datetime, to_date: datetime) -> InvalidRequestError:
    return InvalidRequestError(
        f"the schedule of DAG {shown(dag_id)} has no date that is over, from {from_date.isoformat()} to "
        f"{to_date.isoformat()}: there is nothing to fill"
    )


def _insert(connection: Connection, facts: Mapping[str, Any]) -> int:
    made = rows(
        connection,
        """
        INSERT INTO backfill (dag_id, from_date, to_date, conf, run_backwards, reprocess_behavior, max_active_runs,
                              triggering_user, created_at)
        VALUES (%(dag_id)s, %(from_date)s, %(to_date)s, %(conf)s::jsonb, %(run_backwards)s, %(reprocess)s,
                %(max_active_runs)s, %(user)s, %(now)s)
        ON CONFLICT (dag_id) WHERE completed_at IS NULL DO NOTHING
        RETURNING id
        """,
        facts,
    )
    if not made:
        raise ConflictError(f"DAG {shown(facts['dag_id'])} has a backfill under way; wait for its end or cancel it")
    return int(made[0]["id"])


def _row(
    dag: Mapping[str, Any],
    document: DagDocument,
    info: DagRunInfo,
    backfill_id: int,
    conf: Mapping[str, Any] | None,
    user: str | None,
) -> dict[str, Any]:
    return {
        "dag_id": dag["dag_id"],
        "run_id": f"backfill__{info.run_after.isoformat()}",
        "version_id": dag["version_id"],
        "run_type": "backfill",
        "logical_date": info.logical_date,
        "interval_start": info.data_interval.start,
        "interval_end": info.data_interval.end,
        "run_after": info.run_after,
        "conf": conf,
        "triggered_by": "backfill",
        "triggering_user": user,
        "backfill_id": backfill_id,
        **partition_of(document.schedule, info.logical_date),
    }


def _rerun(
    connection: Connection,
    dag_id: str,
    existing: Sequence[Mapping[str, Any]],
    backfill_id: int,
    latest: bool | None,
    default_latest: bool,
    now: datetime,
) -> None:
    """Let runs run again as runs of the backfill: within its limit, and behind all live work."""
    if not existing:
        return
    selection = Selection(dag_id=dag_id, run_ids=tuple(run["run_id"] for run in existing))
    ids = [run["id"] for run in existing]
    clear(connection, selection, latest=latest, default=default_latest, also_held=ids, now=now)
    # A run that failed before it started has no instance to clear.
    runs.requeue(connection, ids, now=now)
    execute(
        connection,
        "UPDATE dag_run SET backfill_id = %(backfill)s WHERE id = ANY(%(ids)s)",
        {"backfill": backfill_id, "ids": ids},
    )
    execute(
        connection,
        """
        UPDATE task_instance AS instance SET is_backfill = true FROM dag_run AS run
        WHERE run.id = ANY(%(ids)s) AND instance.dag_run_id = run.id AND instance.month = run.month
        """,
        {"ids": ids},
    )


def set_paused(connection: Connection, backfill_id: int, paused: bool) -> None:
    """Pause a backfill (its running runs go on, no new one starts) or let it go on.

    Raises:
        NotFoundError: there is no such backfill, or it is completed.
    """
    changed = execute(
        connection,
        "UPDATE backfill SET is_paused = %(paused)s WHERE id = %(id)s AND completed_at IS NULL",
        {"id": backfill_id, "paused": paused},
    )
    if not changed:
        raise NotFoundError("unfinished backfill", backfill_id)
    notify(connection, WAKE, RUNS)


def cancel(connection: Connection, backfill_id: int, *, now: datetime) -> None:
    """Complete a backfill now: its queued runs fail, its running runs go on to their end.

    Raises:
        NotFoundError: there is no such backfill, or it is completed.
    """
    changed = execute(
        connection,
        """
        UPDATE backfill SET completed_at = %(now)s, cancelled_at = %(now)s
        WHERE id = %(id)s AND completed_at IS NULL
        """,
        {"id": backfill_id, "now": now},
    )
    if not changed:
        raise NotFoundError("unfinished backfill", backfill_id)
    # Locked, so that a run that starts at this moment goes on, as running ones do.
    queued = rows(
        connection,
        """
        SELECT id, month FROM dag_run
        WHERE dag_id = (SELECT dag_id FROM backfill WHERE id = %(id)s) AND backfill_id = %(id)s AND state = 'queued'
        ORDER BY id FOR NO KEY UPDATE
        """,
        {"id": backfill_id},
    )
    for month, batch in groupby(sorted(queued, key=itemgetter("month")), key=itemgetter("month")):
        end_runs(connection, [run["id"] for run in batch], RunState.FAILED, month=month, now=now)
    notify(connection, WAKE, RUNS)


def complete_finished(connection: Connection, *, now: datetime) -> int:
    """Complete the backfills none of whose runs is unfinished; return how many."""
    return execute(
        connection,
        """
        UPDATE backfill SET completed_at = %(now)s
        WHERE completed_at IS NULL AND NOT EXISTS (
            SELECT FROM dag_run WHERE backfill_id = backfill.id AND state IN ('queued', 'running'))
        """,
        {"now": now},
    )
