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
from treadle_metadata.transitions.deadline_sql import OF_RUNS

_DEADLINE: Final = "(dag_run_id, clear_number, position, name, reference, base_at, due_at)"

_INSERT: Final = f"""
    WITH begun AS (
        INSERT INTO dag_run (dag_id, run_id, version_id, month, run_type, state, logical_date, interval_start,
                             interval_end, run_after, queued_at, conf, triggered_by, triggering_user, note,
                             backfill_id, partition_key, partition_date)
        SELECT new.dag_id, new.run_id, new.version_id, %(month)s, new.run_type, 'queued', new.logical_date,
               new.interval_start, new.interval_end, new.run_after, %(now)s, new.conf, new.triggered_by,
               new.triggering_user, new.note, new.backfill_id, new.partition_key, new.partition_date
        FROM unnest(%(dag_id)s::text[], %(run_id)s::text[], %(version_id)s::bigint[], %(run_type)s::text[],
                    %(logical_date)s::timestamptz[], %(interval_start)s::timestamptz[], %(interval_end)s::timestamptz[],
                    %(run_after)s::timestamptz[], %(conf)s::jsonb[], %(triggered_by)s::text[],
                    %(triggering_user)s::text[], %(note)s::text[], %(backfill_id)s::bigint[],
                    %(partition_key)s::text[], %(partition_date)s::timestamptz[])
             AS new (dag_id, run_id, version_id, run_type, logical_date, interval_start, interval_end, run_after, conf,
                     triggered_by, triggering_user, note, backfill_id, partition_key, partition_date)
        ON CONFLICT DO NOTHING
        RETURNING *
    ), awaited AS (INSERT INTO deadline {_DEADLINE} {OF_RUNS})
    SELECT * FROM begun
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
    "partition_key",
    "partition_date",
)

_START: Final = """
    UPDATE dag_run SET state = 'running', started_at = coalesce(started_at, %(now)s), ended_at = NULL
    WHERE id = ANY(%(ids)s) AND state = ANY(%(lawful)s)
    RETURNING id
"""

# One statement, so that no run ends without its callbacks and with deadlines that it has kept. A run's end is told by
# what ended last in it, of a failed one by what failed last.
_FINISH: Final = """
    WITH ended AS (
        UPDATE dag_run
        SET state = %(state)s, started_at = coalesce(started_at, %(now)s), ending = NULL, ending_reason = NULL,
            -- A run that had ended, and is given another outcome, took no longer for it.
            ended_at = CASE WHEN state IN ('success', 'failed') THEN coalesce(ended_at, %(now)s) ELSE %(now)s END
        WHERE id = ANY(%(ids)s) AND state = ANY(%(lawful)s)
        RETURNING id, dag_id, backfill_id, month, version_id, started_at, clear_number
    ), told AS (
        INSERT INTO callback (dag_run_id, event, version_id, task_instance_id, facts, created_at)
        SELECT ended.id, %(event)s, ended.version_id,
               (SELECT id FROM task_instance AS instance
                WHERE instance.month = ended.month AND instance.dag_run_id = ended.id AND instance.ended_at IS NOT NULL
                ORDER BY (instance.state = 'failed') = (%(state)s = 'failed') DESC, instance.ended_at DESC, id DESC
                LIMIT 1),
               jsonb_build_object('state', %(state)s::text, 'reason', %(reason)s::text,
                                  'ended_at', %(now)s::timestamptz, 'clear_number', ended.clear_number),
               %(now)s
        FROM ended JOIN dag_version AS version ON version.id = ended.version_id
        WHERE version.callbacks ? %(end)s
    ), kept AS (
        DELETE FROM deadline USING ended
        WHERE deadline.dag_run_id = ended.id AND deadline.missed_at IS NULL AND deadline.due_at > %(now)s
    ), released AS (
        UPDATE dag SET at_run_limit = false WHERE dag_id = ANY(ARRAY(SELECT dag_id FROM ended)) AND at_run_limit
        RETURNING dag_id
    )
    SELECT id, (SELECT count(*) FROM released) FROM ended
"""

# Its deadlines begin anew with it; those that are over already were told of in their time.
_REQUEUE: Final = f"""
    WITH begun AS (
        UPDATE dag_run
        SET state = 'queued', queued_at = %(now)s, started_at = NULL, ended_at = NULL, clear_number = clear_number + 1,
            ending = NULL, ending_reason = NULL
        WHERE id = ANY(%(ids)s) AND state = ANY(%(lawful)s)
        RETURNING id, dag_id, version_id, clear_number, queued_at, logical_date, run_after
    ), forgotten AS (
        DELETE FROM deadline USING begun WHERE deadline.dag_run_id = begun.id AND deadline.missed_at IS NULL
    ), awaited AS (
        INSERT INTO deadline {_DEADLINE} SELECT * FROM ({OF_RUNS}) AS anew WHERE due_at > %(now)s
    )
    SELECT id FROM begun
"""

_MOVE: Final = "UPDATE dag_run SET version_id = %(version)s WHERE id = ANY(%(ids)s)"

_GO_ON: Final = """
    UPDATE dag_run SET ending = NULL, ending_reason = NULL WHERE id = ANY(%(ids)s) AND ending IS NOT NULL
"""

# A run that was set back to queued under way has teardowns to run, too: it starts for them alone, over any limit.
_LET_END: Final = """
    UPDATE dag_run SET state = 'running', started_at = coalesce(started_at, %(now)s), ending = %(state)s,
                       ending_reason = %(reason)s
    WHERE id = ANY(%(ids)s) AND state IN ('queued', 'running')
    RETURNING id
"""

_STAND_BACK: Final = "UPDATE dag_run SET state = 'queued' WHERE id = ANY(%(ids)s) AND state = 'running'"

_WAKE: Final = """
    INSERT INTO run_wakeup (dag_run_id, due_at)
    SELECT * FROM unnest(%(ids)s::bigint[], %(due)s::timestamptz[])
"""

# One row for each run, however many of its instances changed: a run with ten thousand of them makes no crowd of rows.
_WAKE_FOR: Final = """
    INSERT INTO run_wakeup (dag_run_id, due_at, changed)
    SELECT changed.run, %(now)s, array_agg(changed.id)
    FROM unnest(%(runs)s::bigint[], %(ids)s::bigint[]) AS changed (run, id)
    GROUP BY changed.run
"""

_WAKE_TO_RETRY: Final = """
    INSERT INTO run_wakeup (dag_run_id, due_at, changed)
    SELECT *, '{}'::bigint[] FROM unnest(%(ids)s::bigint[], %(due)s::timestamptz[])
"""

_REMEMBER: Final = """
    UPDATE dag_run SET evaluated_by = %(scheduler)s
    WHERE id = ANY(%(ids)s) AND evaluated_by IS DISTINCT FROM %(scheduler)s
"""

_WAKE_FOLLOWING: Final = """
    INSERT INTO run_wakeup (dag_run_id, due_at)
    SELECT following.id, %(now)s
    FROM dag_run AS run CROSS JOIN LATERAL (
        SELECT id, state, version_id FROM dag_run AS later
        WHERE later.dag_id = run.dag_id AND later.logical_date > run.logical_date
        ORDER BY later.logical_date LIMIT 1) AS following
    WHERE run.id = ANY(%(ids)s) AND following.state = 'running'
      AND (run.id <> ALL(%(over)s) OR following.version_id <> run.version_id)
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


def finish(
    connection: Connection, ids: Sequence[int], state: RunState, *, now: datetime, reason: str | None = None
) -> set[int]:
    """Move runs to a finished ``state`` and let their DAGs make runs again; return the ids that moved.

    ``reason`` is what callbacks of the runs' DAGs are told: ``success`` or ``task_failure``, if not given.
    """
    if not ids:
        return set()
    end = "success" if state is RunState.SUCCESS else "failure"
    parameters = {
        "ids": list(ids),
        "state": state.value,
        "lawful": list(runs_may_follow(state)),
        "now": now,
        "end": end,
        "event": f"run_{end}",
        "reason": reason or ("success" if state is RunState.SUCCESS else "task_failure"),
    }
    moved = tuples(connection, _FINISH, parameters)
    if moved and moved[0][1]:
        # Whichever scheduler hears it first may make the DAG's next run.
        notify(connection, WAKE)
    return {row[0] for row in moved}


def requeue(connection: Connection, ids: Sequence[int], *, now: datetime) -> set[int]:
    """Move finished or running runs back to queued, since some of their instances were cleared."""
    lawful = list(runs_may_follow(RunState.QUEUED))
    return {row[0] for row in tuples(connection, _REQUEUE, {"ids": list(ids), "lawful": lawful, "now": now})}


def move_to_version(connection: Connection, ids: Sequence[int], version_id: int) -> None:
    """Let runs go on with another version of their DAG."""
    execute(connection, _MOVE, {"ids": list(ids), "version": version_id})


def let_end(connection: Connection, ids: Sequence[int], state: RunState, reason: str, *, now: datetime) -> None:
    """Let runs end in ``state`` as soon as their teardowns have run; ``reason`` is what callbacks are told then."""
    if ids:
        parameters = {"ids": list(ids), "state": state.value, "reason": reason, "now": now}
        wake(connection, [(row[0], now) for row in tuples(connection, _LET_END, parameters)])


def go_on(connection: Connection, ids: Sequence[int]) -> None:
    """Take back that runs are to end: something in them is to run again."""
    execute(connection, _GO_ON, {"ids": list(ids)})


def stand_back(connection: Connection, ids: Sequence[int]) -> int:
    """Move running runs back to queued as they are, since the run before theirs needs their place first."""
    return execute(connection, _STAND_BACK, {"ids": list(ids)})


def wake(connection: Connection, dues: Sequence[tuple[int, datetime]]) -> None:
    """Ask that each run be looked at, at its due time."""
    if dues:
        execute(connection, _WAKE, {"ids": [one[0] for one in dues], "due": [one[1] for one in dues]})


def wake_for(connection: Connection, changed: Sequence[tuple[int, int]], *, now: datetime) -> None:
    """Ask that runs be looked at where these (run, instance) have changed, and at what that can affect."""
    if changed:
        parameters = {"runs": [run for run, _ in changed], "ids": [one for _, one in changed], "now": now}
        execute(connection, _WAKE_FOR, parameters)


def wake_to_retry(connection: Connection, dues: Sequence[tuple[int, datetime]]) -> None:
    """Ask that instances of runs that wait to be tried again be looked at, at their due times."""
    if dues:
        execute(connection, _WAKE_TO_RETRY, {"ids": [one[0] for one in dues], "due": [one[1] for one in dues]})


def remember(connection: Connection, ids: Sequence[int], scheduler: str) -> None:
    """Note that this scheduler evaluates these (claimed) runs: what others remember of them is out of date."""
    if ids:
        execute(connection, _REMEMBER, {"ids": list(ids), "scheduler": scheduler})


def wake_following(connection: Connection, ids: Sequence[int], *, over: Sequence[int] = (), now: datetime) -> int:
    """Ask that the running run after each of these (by logical date) be looked at: its tasks may wait for this one.

    Returns how many are.

    ``over`` are runs that ended and in whose own version no task waits: only a run of another version may wait for one.
    """
    if not (ids or over):
        return 0
    return execute(connection, _WAKE_FOLLOWING, {"ids": [*ids, *over], "over": list(over), "now": now})
