"""Hand the callbacks over that wait: of runs that ended, of attempts that could not tell, of missed deadlines.

Users' code never runs in the scheduler: a callback is a workload like an attempt's, with a lease and a fencing token of
its own, and goes to the outbox once its queued state is committed. What a crash leaves there is handed over again when
the lease ends, unless it had started.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_executors.errors import meant
from treadle_metadata import awaited_callbacks, callbacks
from treadle_scheduler.context import Context, Done
from treadle_scheduler.workloads import callback_workload

LIMIT_SECONDS: Final = 300.0
"""How long one callback may take; then its processes are ended."""

Row = Mapping[str, Any]


def run_callbacks(context: Context) -> Done:
    """Queue what waits and put its workloads into the outbox; recover what was lost with its worker."""
    now = context.clock.now()
    lease_until = now + timedelta(seconds=context.settings.lease_seconds)

    def act(connection: Connection) -> Sequence[Row]:
        found = callbacks.hand_over(connection, lease_until=lease_until)
        awaited = _awaited(connection, context, found, now)
        found = [row for row in found if row["id"] not in awaited]
        _refuse(connection, context, found, now)
        return found

    queued = context.database.run(act)
    for row in queued:
        name = row["executor"] or context.settings.executor
        if name in context.executors:
            context.outbox.append((name, callback_workload(row, LIMIT_SECONDS)))
    return Done(len(queued))


def _awaited(connection: Connection, context: Context, found: Sequence[Row], now: datetime) -> set[int]:
    """Hand asynchronous callbacks to triggerers, if one lives; return their ids."""
    chosen = [row for row in found if row["is_async"]]
    if not chosen or not awaited_callbacks.is_somebody_there(connection, now=now):
        return set()
    handed = [(row["version_id"], callback_workload(row, LIMIT_SECONDS)) for row in chosen]
    awaited_callbacks.hand_over(connection, handed, context.crypto(), now=now)
    return {row["id"] for row in chosen}


def _refuse(connection: Connection, context: Context, found: Sequence[Row], now: datetime) -> None:
    unknown: dict[str, list[UUID]] = {}
    for row in found:
        name = row["executor"] or context.settings.executor
        if name not in context.executors:
            unknown.setdefault(name, []).append(row["attempt_id"])
    for name, attempt_ids in unknown.items():
        known = ", ".join(sorted(context.executors))
        hint = meant(name, context.executors)
        reason = f"the callback names the executor {name!r}; this scheduler has {known}{hint}"
        callbacks.refuse(connection, attempt_ids, reason, now=now)
