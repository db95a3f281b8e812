"""Every FOR UPDATE SKIP LOCKED of the project: how schedulers share work without a leader.

Each claim locks rows and returns what it locked; a row that another scheduler holds is passed over. Lock order: dag,
dag_run (by id), task_instance (by id), slot_pool (design section 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.lane import Statement
from treadle_metadata.statements import rows, tuples, tuples_of_each

ADMISSION_LOCK: Final = 0x74726561
"""Key of the transaction-level advisory lock that lets one scheduler at a time admit tasks."""

_DUE_DAGS: Final = """
    SELECT dag.dag_id, dag.version_id, dag.last_interval_start, dag.last_interval_end, dag.max_active_runs,
           coalesce(dag.resumed_at, dag.created_at) AS resumed_at, dag.held_since,
           EXISTS (SELECT FROM dag_warning AS warning
                   WHERE warning.dag_id = dag.dag_id AND warning.kind = 'schedule') AS is_warned
    FROM dag
    WHERE NOT is_paused AND is_active AND NOT at_run_limit AND next_run_at <= %(now)s
      AND NOT dag_id = ANY(%(apart)s)
    ORDER BY next_run_at LIMIT %(most)s
    FOR NO KEY UPDATE SKIP LOCKED
"""

# Consumers that wait for more than has gathered have no new row, and cost nothing. The index is walked from one
# consumer to the next: what a paused one has gathered costs one step, however much it is.
_DAGS_WITH_NEW_EVENTS: Final = """
    WITH RECURSIVE consumer AS (
        (SELECT dag_id FROM asset_run_queue WHERE is_new ORDER BY dag_id LIMIT 1)
        UNION ALL
        SELECT (SELECT queued.dag_id FROM asset_run_queue AS queued
                WHERE queued.is_new AND queued.dag_id > consumer.dag_id ORDER BY queued.dag_id LIMIT 1)
        FROM consumer WHERE consumer.dag_id IS NOT NULL
    )
    SELECT dag.dag_id, dag.version_id, dag.max_active_runs
    FROM dag
    WHERE NOT is_paused AND is_active AND NOT at_run_limit AND dag_id = ANY (ARRAY(SELECT dag_id FROM consumer))
    ORDER BY dag_id LIMIT %(most)s
    FOR NO KEY UPDATE SKIP LOCKED
"""

# The lock comes first and the count of running runs in a later statement: a count in this one would be as old as its
# snapshot, and two schedulers could both see the last free place (cases A17, A18). The index dag_run_to_start is walked
# from one DAG to the next, so that a DAG's thousands of queued runs (case A21) cost no more than one.
_DAGS_WITH_QUEUED_RUNS: Final = """
    WITH RECURSIVE waiting AS (
        SELECT '' AS dag_id
        UNION ALL
        SELECT following.dag_id FROM waiting CROSS JOIN LATERAL (
            SELECT dag_id FROM dag_run WHERE state = 'queued' AND dag_id > waiting.dag_id ORDER BY dag_id LIMIT 1
        ) AS following
    )
    SELECT dag.dag_id, dag.max_active_runs, dag.waits_for_past
    FROM dag
    WHERE NOT dag.is_paused AND dag.is_active
      AND dag.dag_id IN (
          SELECT waiting.dag_id FROM waiting WHERE EXISTS (
              SELECT FROM dag_run
              WHERE dag_run.dag_id = waiting.dag_id AND state = 'queued' AND run_after <= %(now)s))
    ORDER BY dag.dag_id
    FOR NO KEY UPDATE SKIP LOCKED
"""

# A run that somebody marks or cancels at this moment is passed over: its holder may want the DAG's row next.
_QUEUED_RUNS: Final = """
    SELECT id FROM dag_run WHERE id = ANY(%(ids)s) AND state = 'queued' ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
"""

_RUNNING_RUNS: Final = """
    SELECT id FROM dag_run WHERE id = ANY(%(ids)s) AND state = 'running' ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
"""

# Arrays, not joins: planned once for all parameters, a join would go through all runs in the order of their ids. A
# wake-up that commits after this statement began is neither read nor forgotten, and is found next time; of a run that
# another scheduler evaluated since, the row is locked, and read, as that one left it. Forgotten with those of the
# claimed runs are the wake-ups of runs that are not running any more, or are gone.
_WOKEN_RUNS: Final = """
    WITH claimed AS MATERIALIZED (
        SELECT id, dag_id, run_id, version_id, month, run_type, started_at, logical_date, ending, ending_reason,
               evaluated_by
        FROM dag_run
        WHERE state = 'running' AND id = ANY(ARRAY(
            SELECT dag_run_id FROM run_wakeup WHERE due_at <= %(now)s ORDER BY due_at LIMIT %(wakeups)s))
        ORDER BY id LIMIT %(most)s
        FOR NO KEY UPDATE SKIP LOCKED
    ), forgotten AS (
        DELETE FROM run_wakeup
        WHERE due_at <= %(now)s AND (
            dag_run_id = ANY(ARRAY(SELECT id FROM claimed))
            OR NOT EXISTS (SELECT FROM dag_run AS run WHERE run.id = dag_run_id AND run.state = 'running'))
        RETURNING dag_run_id, changed
    )
    SELECT claimed.*, forgotten.dag_run_id IS NOT NULL AS is_told, forgotten.changed
    FROM claimed LEFT JOIN forgotten ON forgotten.dag_run_id = claimed.id
    ORDER BY claimed.id
"""

_NEXT_WAKEUP: Final = "SELECT due_at FROM run_wakeup ORDER BY due_at LIMIT 1"

# What a scheduler decided and a crash of the server takes back is decided again, from reports that are durable, and all
# that tells the outside of it is a later commit, which makes this one durable, too (decision 26).
_DECIDES: Final = "SELECT set_config('synchronous_commit', 'off', true)"

_OLD_RUNS: Final = """
    SELECT id, dag_id, run_id FROM dag_run
    WHERE id = ANY(%(ids)s) AND state IN ('success', 'failed') AND queued_at < %(before)s AND ended_at < %(before)s
    ORDER BY id
    FOR UPDATE SKIP LOCKED
"""

_EXPIRED: Final = """
    SELECT id, attempt_id, month, state, dag_run_id
    FROM task_instance
    WHERE state IN ('queued', 'running', 'restarting') AND lease_until < %(now)s
    ORDER BY id LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
"""


_PENDING_CALLBACKS: Final = """
    SELECT callback.id, callback.event, run.dag_id, run.run_id
    FROM callback JOIN dag_run AS run ON run.id = callback.dag_run_id
    WHERE callback.state = 'pending'
    ORDER BY callback.id
    LIMIT greatest(0, %(most)s - (SELECT count(*) FROM callback AS other WHERE other.state IN ('queued', 'running')))
    FOR UPDATE OF callback SKIP LOCKED
"""

_EXPIRED_CALLBACKS: Final = """
    SELECT attempt_id FROM callback
    WHERE state IN ('queued', 'running') AND lease_until < %(now)s
    ORDER BY id FOR UPDATE SKIP LOCKED
"""

_DUE_DEADLINES: Final = """
    SELECT id FROM deadline
    WHERE missed_at IS NULL AND due_at <= %(now)s
    ORDER BY due_at LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
"""


# The instances are locked, the first in the order of locks: whoever clears or marks one at this moment has come first.
# Their waits are not, so the caller asks again, under these locks, whether they are still over (``deferrals``).
_OVERDUE_DEFERRALS: Final = """
    SELECT instance.id AS task_instance_id, instance.month, instance.attempt_id, due.due_kind, due.limit_seconds
    FROM (
        SELECT * FROM deferral WHERE fired_at IS NULL AND due_at <= %(now)s ORDER BY due_at LIMIT %(most)s
    ) AS due
    JOIN task_instance AS instance ON instance.id = due.task_instance_id AND instance.month = due.month
    WHERE instance.state || '' = 'deferred'
    ORDER BY instance.id
    FOR NO KEY UPDATE OF instance SKIP LOCKED
"""

# By index, in the order of their making; two triggerers that ask at once take different ones (case D4).
_FREE_TRIGGERS: Final = """
    SELECT id, weight FROM trigger WHERE owner IS NULL ORDER BY id LIMIT %(most)s FOR NO KEY UPDATE SKIP LOCKED
"""


_ADMISSION: Final = """
    SELECT pg_try_advisory_xact_lock(%(key)s), set_config('enable_sort', 'off', true),
           set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true),
           set_config('synchronous_commit', 'off', true)
"""

ADMISSION: Final[Statement] = (_ADMISSION, {"key": ADMISSION_LOCK})
"""What ``try_admission_lock`` runs, for those who have more to ask along with it."""


# The row goes with its worker: one that dies before the start is found by the attempt's lease.
# One that is locked has just noted what it came to, and commits (treadle_commit): a stalled session holds up nobody.
_TO_END: Final = """
    SELECT attempt_id, committed FROM task_attempt
    WHERE attempt_id = ANY(%(attempt_ids)s) AND month = %(month)s
    FOR UPDATE SKIP LOCKED
"""

# What is lost of this when the server crashes lies in the queue again, and whoever takes it: the start that follows
# waits for the disk, and only one of them is let begin. So the commit does not wait, where anything was taken.
_WORK: Final = """
    WITH callbacks AS (
        SELECT attempt_id FROM work_item WHERE queue = ANY(%(queues)s) AND is_callback
        ORDER BY number LIMIT %(callbacks)s FOR UPDATE SKIP LOCKED
    ), tasks AS (
        SELECT attempt_id FROM work_item WHERE queue = ANY(%(queues)s) AND NOT is_callback
        ORDER BY number LIMIT %(tasks)s FOR UPDATE SKIP LOCKED
    ), taken AS (SELECT attempt_id FROM callbacks UNION ALL SELECT attempt_id FROM tasks)
    DELETE FROM work_item USING taken WHERE work_item.attempt_id = taken.attempt_id
    RETURNING work_item.number, work_item.workload, set_config('synchronous_commit', 'off', true)
"""


_OF_WOKEN_RUN: Final = (
    "id",
    "dag_id",
    "run_id",
    "version_id",
    "month",
    "run_type",
    "started_at",
    "logical_date",
    "ending",
    "ending_reason",
    "evaluated_by",
)


@dataclass(frozen=True, slots=True)
class WokenRuns:
    """Runs that were claimed, and what the wake-ups said that were forgotten with it."""

    rows: Sequence[Mapping[str, Any]]
    changed: Mapping[int, frozenset[int] | None]
    """By run, the ids of the instances that changed; None: anything may have."""
    retrying: Set[int]
    """The runs in which a retry may be due: a wake-up names no instance."""
    next_at: datetime | None
    """When the next wake-up is due; a time in the past means that its run is held elsewhere, or left for next time."""


def claim_due_dags(
    connection: Connection, *, now: datetime, most: int, apart: Sequence[str] = ()
) -> Sequence[Mapping[str, Any]]:
    """Lock DAGs whose next run is due; not those ``apart``, about which this scheduler waits for an answer."""
    return rows(connection, _DUE_DAGS, {"now": now, "most": most, "apart": list(apart)})


def claim_dags_with_new_events(connection: Connection, *, most: int) -> Sequence[Mapping[str, Any]]:
    """Lock DAGs before which an asset's event was put that no scheduler has looked at."""
    return rows(connection, _DAGS_WITH_NEW_EVENTS, {"most": most})


def claim_dags_with_queued_runs(connection: Connection, *, now: datetime) -> Sequence[Mapping[str, Any]]:
    """Lock DAGs that have a queued run whose time has come; one that is gone from its file starts none."""
    return rows(connection, _DAGS_WITH_QUEUED_RUNS, {"now": now})


def claim_queued_runs(connection: Connection, ids: Sequence[int]) -> list[int]:
    """Lock those of these runs that are queued and that nobody else holds."""
    return [row[0] for row in tuples(connection, _QUEUED_RUNS, {"ids": list(ids)})]


def claim_running_runs(connection: Connection, ids: Sequence[int]) -> list[int]:
    """Lock those of these runs that are running and that nobody else holds."""
    return [row[0] for row in tuples(connection, _RUNNING_RUNS, {"ids": list(ids)})]


def claim_woken_runs(connection: Connection, *, now: datetime, most: int) -> WokenRuns:
    """Lock running runs that have a due wake-up, and forget what was due of them."""
    _, found, following = tuples_of_each(
        connection,
        (_DECIDES, {}),
        (_WOKEN_RUNS, {"now": now, "most": most, "wakeups": most * 20}),
        (_NEXT_WAKEUP, {}),
    )
    rows: dict[int, Mapping[str, Any]] = {}
    changed: dict[int, frozenset[int] | None] = {}
    retrying: set[int] = set()
    for *values, is_told, ids in found:
        row = dict(zip(_OF_WOKEN_RUN, values, strict=True))
        rows[row["id"]] = row
        before = changed.get(row["id"], frozenset())
        changed[row["id"]] = None if before is None or (is_told and ids is None) else before.union(ids or ())
        if is_told and not ids:
            retrying.add(row["id"])
    return WokenRuns(list(rows.values()), changed, retrying, following[0][0] if following else None)


def claim_expired_attempts(connection: Connection, *, now: datetime, most: int) -> Sequence[Mapping[str, Any]]:
    """Lock instances whose attempt has not been heard of for a whole lease."""
    return rows(connection, _EXPIRED, {"now": now, "most": most})


def claim_pending_callbacks(connection: Connection, *, most: int) -> Sequence[Mapping[str, Any]]:
    """Lock callbacks that wait to be handed over, so many that at most ``most`` are under way."""
    return rows(connection, _PENDING_CALLBACKS, {"most": most})


def claim_expired_callbacks(connection: Connection, *, now: datetime) -> list[UUID]:
    """Lock callbacks that have not been heard of for a whole lease; return their attempts."""
    return [row[0] for row in tuples(connection, _EXPIRED_CALLBACKS, {"now": now})]


def claim_due_deadlines(connection: Connection, *, now: datetime, most: int) -> list[int]:
    """Lock deadlines that are over and that nobody has fired."""
    return [row[0] for row in tuples(connection, _DUE_DEADLINES, {"now": now, "most": most})]


def claim_overdue_deferrals(connection: Connection, *, now: datetime, most: int) -> Sequence[Mapping[str, Any]]:
    """Lock deferred instances whose time to wait is over."""
    return rows(connection, _OVERDUE_DEFERRALS, {"now": now, "most": most})


def claim_free_triggers(connection: Connection, *, most: int) -> Sequence[Mapping[str, Any]]:
    """Lock triggers that nobody runs; return their ids and weights."""
    return rows(connection, _FREE_TRIGGERS, {"most": most})


def claim_old_runs(connection: Connection, ids: Sequence[int], *, before: datetime) -> Sequence[Any]:
    """Lock those of these runs that are finished since before ``before``; return (id, DAG id, run id)."""
    return tuples(connection, _OLD_RUNS, {"ids": list(ids), "before": before})


def try_admission_lock(connection: Connection) -> bool:
    """Take the admission lock until the transaction ends, if no other scheduler holds it.

    Until then the planner keeps to the order of indexes: it knows little of rows that are in a state for milliseconds,
    and would rather sort what it believes to be one row, and is a backlog. It does so once for each statement. The
    commit does not wait for the disk: the start of what was queued does (decision 26).
    """
    return bool(tuples(connection, *ADMISSION)[0][0])


def claim_attempts_to_end(
    connection: Connection, attempt_ids: Sequence[UUID], *, month: date
) -> dict[UUID, str | None]:
    """Lock attempts that are to end, but for those that commit at this moment; return what each has committed."""
    parameters = {"attempt_ids": list(attempt_ids), "month": month}
    return {row[0]: row[1] for row in tuples(connection, _TO_END, parameters)}


def claim_work(connection: Connection, queues: Sequence[str], *, tasks: int, callbacks: int) -> list[str]:
    """Take up to so many attempts out of the transactional executor's queues; return their workloads.

    One statement, whose commit does not wait for the disk (decision 33).
    """
    named = {"queues": list(queues), "tasks": tasks, "callbacks": callbacks}
    found = tuples(connection, _WORK, named)
    return [row[1] for row in sorted(found)]
