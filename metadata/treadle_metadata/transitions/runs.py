"""Moves of runs, and the wake-ups that go with every change of a run's prospects (design section 3.1)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.connection import WAKE, notify
from treadle_metadata.statements import execute, rows, tuples
from treadle_metadata.states import RunState, runs_may_follow

_INSERT: Final = """
    INSERT INTO dag_run (dag_id, run_id, version_id, month, run_type, state, logical_date, interval_start, interval_end,
                         run_after, queued_at, conf, triggered_by, triggering_user, note, backfill_id)
    SELECT new.dag_id, new.run_id, new.version_id, %(month)s, new.run_type, 'queued', new.logical_date,
           new.interval_start, new.interval_end, new.run_after, %(now)s, new.conf, new.triggered_by,
           new.triggering_user, new.note, new.backfill_id
    FROM unnest(%(dag_id)s::text[], %(run_id)s::text[], %(version_id)s::bigint[], %(run_type)s::text[],
                %(logical_date)s::timestamptz[], %(interval_start)s::timestamptz[], %(interval_end)s::timestamptz[],
                %(run_after)s::timestamptz[], %(conf)s::jsonb[], %(triggered_by)s::text[],
                %(triggering_user)s::text[], %(note)s::text[], %(backfill_id)s::bigint[])
         AS new (dag_id, run_id, version_id, run_type, logical_date, interval_start, interval_end, run_after, conf,
                 triggered_by, triggering_user, note, backfill_id)
    ON CONFLICT DO NOTHING
    RETURNING *
"""

_COLUMNS: Final = (
    "dag_id",
    "run_id",
    "version_id",
    "run_type",
    "logical_date",
    "interval_start",
    "interval_end",
    "run_after",
    "triggered_by",
    "triggering_user",
    "note",
    "backfill_id",
)

_START: Final = """
    UPDATE dag_run SET state = 'running', started_at = coalesce(started_at, %(now)s), ended_at = NULL
    WHERE id = ANY(%(ids)s) AND state = ANY(%(lawful)s)
    RETURNING id
"""

_FINISH: Final = """
    UPDATE dag_run SET state = %(state)s, started_at = coalesce(started_at, %(now)s), ended_at = %(now)s
    WHERE id = ANY(%(ids)s) AND state = ANY(%(lawful)s)
    RETURNING id, dag_id, backfill_id
"""

_REQUEUE: Final = """
    UPDATE dag_run
    SET state = 'queued', queued_at = %(now)s, started_at = NULL, ended_at = NULL, clear_number = clear_number + 1
    WHERE id = ANY(%(ids)s) AND state = ANY(%(lawful)s)
    RETURNING id
"""

_RELEASE: Final = "UPDATE dag SET at_run_limit = false WHERE dag_id = ANY(%(dag_ids)s) AND at_run_limit"

_WAKE: Final = """
    INSERT INTO run_wakeup (dag_run_id, due_at)
    SELECT * FROM unnest(%(ids)s::bigint[], %(due)s::timestamptz[])
"""

_WAKE_FOLLOWING: Final = """
    INSERT INTO run_wakeup (dag_run_id, due_at)
    SELECT following.id, %(now)s
    FROM dag_run AS run CROSS JOIN LATERAL (
        SELECT id, state FROM dag_run AS later
        WHERE later.dag_id = run.dag_id AND later.logical_date > run.logical_date
        ORDER BY later.logical_date LIMIT 1) AS following
    WHERE run.id = ANY(%(ids)s) AND following.state = 'running'
"""


def insert_runs(
    connection: Connection, new: Sequence[Mapping[str, Any]], *, month: object, now: datetime
) -> Sequence[Mapping[str, Any]]:
    """Insert queued runs and return their rows.

    A run whose (DAG, run id) or (DAG, logical date) exists already is not made and not returned: two schedulers that
    make the same scheduled run make one (design section 5).
    """
    if not new:
        return []
    columns: dict[str, Any] = {name: [one.get(name) for one in new] for name in _COLUMNS}
    columns["conf"] = [json.dumps(one.get("conf") or {}) for one in new]
    return rows(connection, _INSERT, columns | {"month": month, "now": now})


def start(connection: Connection, ids: Sequence[int], *, now: datetime) -> set[int]:
    """Move queued runs to running; return the ids that moved."""
    lawful = list(runs_may_follow(RunState.RUNNING))
    return {row[0] for row in tuples(connection, _START, {"ids": list(ids), "lawful": lawful, "now": now})}


def finish(connection: Connection, ids: Sequence[int], state: RunState, *, now: datetime) -> set[int]:
    """Move runs to a finished ``state`` and let their DAGs make runs again; return the ids that moved."""
    if not ids:
        return set()
    lawful = list(runs_may_follow(state))
    moved = tuples(connection, _FINISH, {"ids": list(ids), "state": state.value, "lawful": lawful, "now": now})
    if moved and execute(connection, _RELEASE, {"dag_ids": sorted({row[1] for row in moved})}):
        # Whichever scheduler hears it first may make the DAG's next run.
        notify(connection, WAKE)
    return {row[0] for row in moved}


def requeue(connection: Connection, ids: Sequence[int], *, now: datetime) -> set[int]:
    """Move finished or running runs back to queued, since some of their instances were cleared."""
    lawful = list(runs_may_follow(RunState.QUEUED))
    return {row[0] for row in tuples(connection, _REQUEUE, {"ids": list(ids), "lawful": lawful, "now": now})}


def wake(connection: Connection, dues: Sequence[tuple[int, datetime]]) -> None:
    """Ask that each run be looked at, at its due time."""
    if dues:
        execute(connection, _WAKE, {"ids": [one[0] for one in dues], "due": [one[1] for one in dues]})


def wake_following(connection: Connection, ids: Sequence[int], *, now: datetime) -> None:
    """Ask that the running run after each of these (by logical date) be looked at: its tasks may wait for this one."""
    if ids:
        execute(connection, _WAKE_FOLLOWING, {"ids": list(ids), "now": now})
