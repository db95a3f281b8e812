"""Asynchronous callbacks of deadlines in the loops of triggerers: handed over, begun at most once, and ended.

The duty ``run_callbacks`` hands them over, as long as a triggerer lives; an executor runs them else. Each is a trigger
of its own, fenced by the attempt of its callback: one whose triggerer died after it had begun is failed, not begun
again (decision 12).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata import callbacks, execution
from treadle_metadata.connection import notify
from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.statements import execute, rows, tuples
from treadle_metadata.transitions import callbacks as transitions
from treadle_metadata.transitions.deferred import TRIGGERS

CLASSPATH: Final = "treadle_triggerer.callbacks.CallbackTrigger"

SLACK: Final = timedelta(seconds=60)
"""How much longer than its limit a callback in a triggerer may be unheard of."""

_LIVES: Final = """
    SELECT EXISTS (SELECT FROM process WHERE kind = 'triggerer' AND stopped_at IS NULL AND lease_until > %(now)s)
"""

_HAND_OVER: Final = """
    INSERT INTO trigger (classpath, kwargs, version_id, attempt_id, created_at)
    SELECT %(classpath)s, handed.kwargs, handed.version_id, handed.attempt_id, %(now)s
    FROM unnest(%(kwargs)s::text[], %(version_ids)s::bigint[], %(attempt_ids)s::uuid[])
         AS handed (kwargs, version_id, attempt_id)
"""

_OWN: Final = """
    SELECT trigger.attempt_id, coalesce(callback.task_instance_id, 0) AS task_instance_id, run.month
    FROM trigger JOIN callback ON callback.attempt_id = trigger.attempt_id
                 JOIN dag_run AS run ON run.id = callback.dag_run_id
    WHERE trigger.id = %(id)s AND trigger.owner = %(owner)s AND trigger.task_instance_id IS NULL
"""


def is_somebody_there(connection: Connection, *, now: datetime) -> bool:
    """Tell whether a triggerer lives."""
    return bool(tuples(connection, _LIVES, {"now": now})[0][0])


def hand_over(
    connection: Connection, handed: Sequence[tuple[int, Mapping[str, Any]]], crypto: Crypto, *, now: datetime
) -> None:
    """Give queued callbacks, (version id, workload) each, to whichever triggerers take them."""
    columns = {
        "kwargs": [crypto.encrypt(json.dumps({"workload": json.dumps(workload)})) for _, workload in handed],
        "version_ids": [version_id for version_id, _ in handed],
        "attempt_ids": [workload["attempt_id"] for _, workload in handed],
    }
    execute(connection, _HAND_OVER, columns | {"classpath": CLASSPATH, "now": now})
    notify(connection, TRIGGERS)


def answer(
    connection: Connection,
    owner: UUID,
    trigger_id: int,
    op: str,
    args: Mapping[str, Any],
    *,
    crypto: Crypto,
    now: datetime,
) -> Any:
    """Answer a question of a callback in a triggerer: whether it may begin, or what a task may ask.

    Raises:
        InvalidRequestError: the triggerer does not run it, or the question is malformed.
    """
    found = rows(connection, _OWN, {"id": trigger_id, "owner": owner})
    if not found:
        raise InvalidRequestError(f"trigger {trigger_id} is no callback that this triggerer runs")
    of = dict(found[0])
    if op == "start_callback":
        report = {"attempt_id": of["attempt_id"], "hostname": str(args.get("hostname")), "started_at": now}
        lease_until = now + timedelta(seconds=float(args.get("limit") or 0)) + SLACK
        return bool(transitions.start(connection, [report], lease_until=lease_until))
    request = {**of, "attempt_id": str(of["attempt_id"]), "id": 0, "op": args.get("op"), "args": args.get("args") or {}}
    return execution.answer_request(connection, request, crypto=crypto, now=now)


def finish(connection: Connection, ended: Sequence[Mapping[str, Any]], *, now: datetime) -> None:
    """Record how callbacks ended: ``attempt_id`` and the event that was ``fired``."""
    callbacks.finish(connection, [_report(one, now) for one in ended], now=now)


def _report(one: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    fired = one["fired"]
    error = None
    if fired["kind"] == "event":
        error = (fired.get("plain") or {}).get("error")
    else:
        message = str(fired.get("error") or fired.get("reason") or "it brought no result")
        error = {"kind": "exception", "type": "CallbackFailed", "message": message[: 16 * 1024]}
    outcome = "success" if error is None else "failed"
    return {"attempt_id": str(one["attempt_id"]), "outcome": outcome, "ended_at": now, "error": error}
