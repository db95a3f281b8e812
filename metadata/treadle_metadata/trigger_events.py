"""What triggers brought: a task that waits goes on or ends, an asset has an event.

Called by the Execution API with what a triggerer reports. One batch is one transaction, so an event and what it does
are one change; a report that comes twice finds no trigger any more and changes nothing. An event counts if the
triggerer owns the trigger and the attempt that it was made for still waits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata import awaited_callbacks
from treadle_metadata.assets import emitting
from treadle_metadata.connection import RUNS, TASKS, WAKE, notify
from treadle_metadata.crypto import Crypto
from treadle_metadata.instance_locks import lock_instances
from treadle_metadata.statements import execute, rows
from treadle_metadata.states import TaskState
from treadle_metadata.transitions import attempts, callbacks, deferred, runs

_LONGEST_ERROR: Final = 16 * 1024
_LONGEST_TROUBLE: Final = 2000

# Not locked: the instances come first in the order of locks.
_FIRED: Final = """
    SELECT trigger.id, trigger.task_instance_id, trigger.month, trigger.attempt_id, trigger.classpath,
           trigger.shared_key IS NOT NULL AS is_watcher, coalesce(deferral.ends_in_worker, false) AS ends_in_worker
    FROM trigger LEFT JOIN deferral ON deferral.trigger_id = trigger.id
                                   AND deferral.task_instance_id = trigger.task_instance_id
    WHERE trigger.id = ANY(%(ids)s) AND trigger.owner = %(owner)s AND trigger.cancelled_at IS NULL
"""

_TROUBLE: Final = """
    UPDATE trigger SET trouble = told.trouble
    FROM unnest(%(ids)s::bigint[], %(troubles)s::text[]) AS told (id, trouble)
    WHERE trigger.id = told.id AND trigger.owner = %(owner)s AND trigger.trouble IS DISTINCT FROM told.trouble
"""

_SPENT: Final = "DELETE FROM trigger WHERE id = ANY(%(ids)s) AND owner = %(owner)s AND cancelled_at IS NULL"

_ASSETS: Final = """
    SELECT trigger_asset.trigger_id, asset.name, asset.uri, min(trigger_asset.watcher) AS watcher
    FROM trigger_asset JOIN asset ON asset.id = trigger_asset.asset_id
    WHERE trigger_asset.trigger_id = ANY(%(ids)s)
    GROUP BY 1, 2, 3
    ORDER BY asset.name
"""

Event = Mapping[str, Any]
"""``id`` of the trigger and ``kind``: ``event`` (``payload``: typed JSON text), ``end`` (``outcome``, ``reason`` and
``xcoms``), ``failed`` (``error`` and ``traceback``), or, of watchers, ``trouble`` (``error``) and ``well``."""


def record(
    connection: Connection, process_id: UUID, events: Sequence[Event], *, crypto: Crypto, now: datetime
) -> set[int]:
    """Record a batch of events; return the triggers whose events counted."""
    by_trigger: dict[int, list[Event]] = {}
    for event in events:
        by_trigger.setdefault(event["id"], []).append(event)
    found = rows(connection, _FIRED, {"ids": list(by_trigger), "owner": process_id})
    waiting = [{**row, "fired": by_trigger[row["id"]][0]} for row in found if row["task_instance_id"] is not None]
    counted: set[int] = set()
    for month, batch in groupby(sorted(waiting, key=itemgetter("month")), key=itemgetter("month")):
        counted |= _reach_tasks(connection, list(batch), month, crypto, now)
    others = [{**row, "fired": by_trigger[row["id"]][0]} for row in found if row["task_instance_id"] is None]
    watchers = [row["id"] for row in others if row["is_watcher"]]
    called = [row for row in others if not row["is_watcher"] and row["attempt_id"] is not None]
    awaited_callbacks.finish(connection, called, now=now)
    spent = [row["id"] for row in found if not row["is_watcher"]]
    execute(connection, _SPENT, {"ids": spent, "owner": process_id})
    if watchers:
        of_watchers = {one: by_trigger[one] for one in watchers}
        _emit(connection, of_watchers, now)
        troubles = [_trouble(events[-1]) for events in of_watchers.values()]
        execute(connection, _TROUBLE, {"ids": list(of_watchers), "troubles": troubles, "owner": process_id})
    return counted | {row["id"] for row in others}


def _trouble(event: Event) -> str | None:
    """Return why a watcher fails, of which this is the latest; None: it works."""
    if event["kind"] not in ("trouble", "failed"):
        return None
    return (plain_text(event.get("error")) or "it gave no reason")[:_LONGEST_TROUBLE]


def _reach_tasks(
    connection: Connection, waiting: Sequence[Mapping[str, Any]], month: date, crypto: Crypto, now: datetime
) -> set[int]:
    """Let tasks of one month go on, or end; return the triggers that reached theirs."""
    ending = [row for row in waiting if row["fired"]["kind"] == "end" and not row["ends_in_worker"]]
    ends = {row["id"] for row in ending}
    going = [{**row, **_going(row, crypto)} for row in waiting if row["id"] not in ends]
    if going and ending:  # two statements, of which each locks its own
        lock_instances(connection, [(month, row["task_instance_id"]) for row in waiting])
    gone_on = deferred.go_on(connection, going, month=month, now=now) if going else []
    if gone_on:
        notify(connection, WAKE, TASKS)
    ended = _end(connection, ending, month, now) if ending else set()
    reached = {row[0] for row in gone_on} | ended
    return {row["id"] for row in waiting if row["task_instance_id"] in reached}


def _going(row: Mapping[str, Any], crypto: Crypto) -> dict[str, Any]:
    fired = row["fired"]
    if fired["kind"] == "event":
        return {"event": crypto.encrypt(fired["payload"])}
    if fired["kind"] == "end":
        told = {"kind": "end", "outcome": fired["outcome"], "reason": plain_text(fired.get("reason"))}
        xcoms = {one["key"]: one["value"] for one in fired.get("xcoms") or ()}
        return {"error": {**told, "xcoms": xcoms}}
    error = (plain_text(fired.get("error")) or "it gave no reason")[:_LONGEST_ERROR]
    told = {"kind": "exception", "error": f"trigger {row['classpath']} failed: {error}"}
    return {"error": told | {"traceback": plain_text(fired.get("traceback"))[-_LONGEST_ERROR:]}}


def plain_text(text: Any) -> str:
    """Return a text without what PostgreSQL cannot store: a failure is stored whatever its message holds."""
    return str(text or "").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _end(connection: Connection, ending: Sequence[Mapping[str, Any]], month: date, now: datetime) -> set[int]:
    """End tasks as their triggers say, with all that the end of an attempt brings; return the instances that ended."""
    ends = [{**row, "outcome": row["fired"]["outcome"], "error": _error_of_end(row)} for row in ending]
    moved = deferred.end(connection, ends, month=month, now=now)
    ended = {row["id"] for row in moved}
    pushed = [
        (row["task_instance_id"], one)
        for row in ending
        if row["task_instance_id"] in ended
        for one in row["fired"].get("xcoms") or ()
    ]
    attempts.push_xcoms(connection, pushed, month=month, now=now)
    failed = [row["attempt_id"] for row in moved if row["state"] in (TaskState.FAILED, TaskState.UP_FOR_RETRY)]
    callbacks.tell_of_attempts(connection, failed, month=month, now=now)
    runs.wake_for(connection, [(row["dag_run_id"], row["id"]) for row in moved], now=now)
    retries = [(row["dag_run_id"], row["next_retry_at"]) for row in moved if row["next_retry_at"] is not None]
    runs.wake_to_retry(connection, retries)
    if moved:
        notify(connection, WAKE, RUNS)
    return ended


def _error_of_end(row: Mapping[str, Any]) -> dict[str, str] | None:
    if row["fired"]["outcome"] != "failed":
        return None
    reason = plain_text(row["fired"].get("reason")) or f"trigger {row['classpath']} ended the task as failed"
    return {"kind": "exception", "type": "TaskDeferralError", "message": reason[:_LONGEST_ERROR]}


def _emit(connection: Connection, by_watcher: Mapping[int, Sequence[Event]], now: datetime) -> None:
    """Make asset events of what watchers saw: of each of their assets, whoever of its consumers is paused."""
    told = [
        emitting.NewEvent(
            name=row["name"],
            uri=row["uri"],
            extra={"from_watcher": row["watcher"], "payload": event["plain"]},
        )
        for row in rows(connection, _ASSETS, {"ids": list(by_watcher)})
        for event in by_watcher[row["trigger_id"]]
        if event["kind"] == "event"
    ]
    emitting.emit(connection, told, now=now)
