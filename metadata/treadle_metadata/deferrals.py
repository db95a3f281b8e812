"""The waits of deferred tasks on the server's side: stored encrypted, read for the attempts that go on, and timed out.

Called where attempts' reports are recorded, where workloads are made, and by the scheduler's duty. Only processes that
hold database credentials have the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata import claims
from treadle_metadata.connection import RUNS, WAKE, notify
from treadle_metadata.crypto import Crypto
from treadle_metadata.statements import rows, tuples
from treadle_metadata.transitions import deferred

_SECRET: Final = ("kwargs", "next_kwargs")

_OF: Final = """
    SELECT task_instance_id, next_method, next_kwargs, event, error, first_started_at
    FROM deferral WHERE task_instance_id = ANY(%(ids)s)
"""

# Asked once the instances are locked: the claim may have met one that has gone on and waits anew, with the limit of its
# former wait. Whoever writes a wait holds its instance.
_STILL_DUE: Final = """
    SELECT task_instance_id, due_kind, limit_seconds FROM deferral
    WHERE task_instance_id = ANY(%(ids)s) AND fired_at IS NULL AND due_at <= %(now)s
"""

_NEXT_DUE: Final = "SELECT min(due_at) FROM deferral WHERE fired_at IS NULL AND due_at IS NOT NULL"

BATCH: Final = 1000


def sealed(reports: Sequence[Mapping[str, Any]], crypto: Crypto) -> list[Mapping[str, Any]]:
    """Return reports of ended attempts, what their triggers are given encrypted."""
    return [_sealed(report, crypto) if "deferral" in report else report for report in reports]


def _sealed(report: Mapping[str, Any], crypto: Crypto) -> Mapping[str, Any]:
    deferral = dict(report["deferral"])
    for name in _SECRET:
        deferral[name] = crypto.encrypt(str(deferral[name]))
    return {**report, "deferral": deferral}


def resumes_of(connection: Connection, ids: Sequence[int], crypto: Callable[[], Crypto]) -> dict[int, Any]:
    """Return what instances go on with (``treadle_worker.protocol.Resume``), by their ids."""
    if not ids:
        return {}
    keys = crypto()
    return {one["task_instance_id"]: _resume(one, keys) for one in rows(connection, _OF, {"ids": list(ids)})}


def _resume(row: Mapping[str, Any], crypto: Crypto) -> dict[str, Any]:
    what = f"the wait of task instance {row['task_instance_id']}"
    began = row["first_started_at"]
    return {
        "method": row["next_method"],
        "kwargs": crypto.decrypt(row["next_kwargs"], what),
        "event": None if row["event"] is None else crypto.decrypt(row["event"], what),
        "error": row["error"],
        "first_started_at": None if began is None else began.isoformat(),
    }


def expire(connection: Connection, *, now: datetime) -> tuple[int, datetime | None]:
    """Let tasks go on, with an error, whose time to wait is over; return how many, and when to look again.

    Their triggers are cancelled: what they started outside is ended (case D7).
    """
    due = claims.claim_overdue_deferrals(connection, now=now, most=BATCH)
    asked = {"ids": [one["task_instance_id"] for one in due], "now": now}
    still = {one["task_instance_id"]: one for one in rows(connection, _STILL_DUE, asked)} if due else {}
    over = [{**one, **still[one["task_instance_id"]]} for one in due if one["task_instance_id"] in still]
    for month, batch in groupby(sorted(over, key=itemgetter("month")), key=itemgetter("month")):
        _expire(connection, list(batch), month, now)
    if over:
        notify(connection, WAKE, RUNS)
    following = tuples(connection, _NEXT_DUE)[0][0] if len(due) < BATCH else now
    return len(over), following


def _expire(connection: Connection, due: Sequence[Mapping[str, Any]], month: date, now: datetime) -> None:
    gone_on = deferred.go_on(connection, [{**one, "error": _error(one)} for one in due], month=month, now=now)
    deferred.cancel(connection, [row[0] for row in gone_on], "timeout", now=now)


def _error(one: Mapping[str, Any]) -> dict[str, str]:
    if one["due_kind"] == "timeout":
        sentence = f"no event came within the deferral's timeout of {one['limit_seconds']:g} s"
    else:
        sentence = f"the task ran longer than its execution_timeout of {one['limit_seconds']:g} s, deferrals included"
    return {"kind": one["due_kind"], "error": sentence}
