"""Moves of task instances as workers report: started, finished, alive, lost.

Every statement names the attempt: a report of an older attempt changes no row (design section 4, attempts). A batch of
reports is one statement for each kind of change; the batch's rows share one partition month.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.lane import Statement
from treadle_metadata.statements import execute, tuples, tuples_of_each
from treadle_metadata.states import TaskState
from treadle_metadata.transitions import deferred

_SAME_TRY: Final = (TaskState.SCHEDULED, TaskState.UP_FOR_RESCHEDULE, TaskState.DEFERRED)
"""Where an instance goes on with what its trigger brought, or waits anew."""

LONGEST_RETRY_DELAY: Final = 366 * 86400.0
"""Seconds; a task may ask for a delay of its own, and a report must not fail for a number that no calendar has."""

# In what follows states are compared so that no index of active instances fits: with old statistics the planner takes
# such an index for nearly empty, and would read all that is active for each batch of reports, however small.

# The attempt's own row says at once who runs it since when: whoever closes it for a dead worker needs no report.
_START: Final = """
    WITH started AS (
        UPDATE task_instance AS instance
        SET state = 'running', started_at = %(now)s, hostname = report.hostname, lease_until = %(lease_until)s
        FROM unnest(%(ids)s::bigint[], %(attempt_ids)s::uuid[], %(hostnames)s::text[], %(started)s::timestamptz[])
             AS report (id, attempt_id, hostname, started_at)
        WHERE instance.id = report.id AND instance.month = %(month)s
          AND instance.attempt_id = report.attempt_id AND instance.state || '' = 'queued'
        RETURNING instance.attempt_id, instance.id, instance.try_number, report.hostname, report.started_at,
                  instance.resumes
    ), noted AS (
        UPDATE task_attempt AS attempt
        SET started_at = started.started_at, hostname = started.hostname
        FROM started
        WHERE attempt.attempt_id = started.attempt_id AND attempt.month = %(month)s AND attempt.outcome IS NULL
    )
    SELECT attempt_id, id, try_number, resumes FROM started
"""

# The same report again: the connection broke as the first was committed, so its sender does not know (case A77). Host
# and time tell it from the start that another host reports for a hand-over that came twice. Of the time only the part
# of a second is asked, a microsecond of a million: a worker's wrong clock is corrected by whole seconds, of which there
# may be others when the report comes again.
_STARTED_ALREADY: Final = """
    SELECT instance.attempt_id
    FROM unnest(%(ids)s::bigint[], %(attempt_ids)s::uuid[], %(hostnames)s::text[], %(started)s::timestamptz[])
         AS report (id, attempt_id, hostname, started_at)
         JOIN task_instance AS instance ON instance.id = report.id AND instance.month = %(month)s
              AND instance.attempt_id = report.attempt_id AND instance.state || '' = 'running'
         JOIN task_attempt AS attempt ON attempt.attempt_id = report.attempt_id AND attempt.month = %(month)s
              AND extract(epoch FROM attempt.started_at - report.started_at) %% 1 = 0
              AND attempt.hostname = report.hostname
"""

# A retry must not see what the failed attempt pushed; what goes on after a deferral sees what it pushed before.
_FORGET_XCOMS: Final = "DELETE FROM xcom WHERE month = %(month)s AND task_instance_id = ANY(%(ids)s)"

_CLEARED: Final = "the attempt was ended while it ran: its task was cleared"

# A cleared instance (restarting) starts over whatever its old attempt reports. One that is handed back by a scheduler
# that stops is the same try again, and so is one that a durable step suspended: they are not charged.
# Finished attempts are never rewritten: the guard is that no outcome stands yet, or that a person ended the instance
# while it ran and its worker, which was told, says now how that went; why it was told, whoever ended it has noted, and
# of a cleared one its state says: a pod, say, knows only that it was deleted.
# What a report lacks, the start has noted.
# The attempts are closed after the instances have moved, the order in which all lock them: nothing reads that part.
# Their runs are woken as ``runs.wake_for`` does it: one row for each run, which names what has changed in it.
_FINISH: Final = """
    WITH closed AS (
        UPDATE task_attempt AS attempt
        SET outcome = report.outcome, started_at = coalesce(report.started_at, attempt.started_at),
            ended_at = report.ended_at, hostname = coalesce(report.hostname, attempt.hostname), pid = report.pid,
            exit_code = report.exit_code, signal = report.signal, peak_rss_bytes = report.peak_rss,
            cpu_seconds = report.cpu_seconds, rendered_fields = report.rendered,
            error = CASE WHEN attempt.outcome = 'withdrawn' AND report.error ->> 'kind' = 'terminated'
                         THEN report.error || jsonb_build_object('message', attempt.error -> 'message')
                         WHEN report.error ->> 'kind' = 'terminated' AND 'restarting' = (
                             SELECT instance.state FROM task_instance AS instance
                             WHERE instance.id = attempt.task_instance_id AND instance.month = %(month)s
                               AND instance.attempt_id = attempt.attempt_id)
                         THEN report.error || jsonb_build_object('message', %(cleared)s::text)
                         ELSE report.error END,
            code_hash = coalesce(report.code_hash, attempt.code_hash), committed = NULL
        FROM unnest(%(attempt_ids)s::uuid[], %(outcomes)s::text[], %(started)s::timestamptz[], %(ended)s::timestamptz[],
                    %(hostnames)s::text[], %(pids)s::int[], %(exit_codes)s::int[], %(signals)s::int[],
                    %(peak_rss)s::bigint[], %(cpu_seconds)s::float8[], %(errors)s::jsonb[], %(rendered)s::jsonb[],
                    %(code_hashes)s::text[])
             AS report (attempt_id, outcome, started_at, ended_at, hostname, pid, exit_code, signal, peak_rss,
                        cpu_seconds, error, rendered, code_hash)
        WHERE attempt.attempt_id = report.attempt_id AND attempt.month = %(month)s
          AND (attempt.outcome IS NULL OR attempt.outcome = 'withdrawn')
    ), moved AS (
        UPDATE task_instance AS instance
        SET state = CASE
                WHEN instance.state = 'restarting' THEN 'none'
                WHEN report.outcome = 'success' THEN 'success'
                WHEN report.outcome = 'skipped' THEN 'skipped'
                WHEN report.outcome = 'handed_back' THEN 'scheduled'
                WHEN report.outcome = 'suspended' THEN 'up_for_reschedule'
                WHEN report.outcome = 'deferred' THEN 'deferred'
                WHEN report.outcome = 'failed' AND instance.try_number <= instance.max_tries THEN 'up_for_retry'
                ELSE 'failed'
            END,
            ended_at = CASE WHEN instance.state <> 'restarting' AND report.outcome NOT IN ('handed_back', 'deferred')
                            THEN report.ended_at END,
            try_number = instance.try_number
                - (instance.state <> 'restarting' AND report.outcome IN ('handed_back', 'suspended'))::int,
            attempt_id = CASE WHEN instance.state = 'restarting' OR report.outcome NOT IN ('handed_back', 'suspended')
                              THEN instance.attempt_id END,
            next_retry_at = CASE
                WHEN instance.state <> 'restarting' AND report.outcome = 'suspended' THEN report.resume_at
                WHEN instance.state <> 'restarting' AND report.outcome = 'failed'
                     AND instance.try_number <= instance.max_tries
                THEN report.ended_at + make_interval(secs => greatest(0, least(
                    %(longest_delay)s, coalesce(report.retry_delay, attempt.retry_delay_seconds))))
            END,
            lease_until = NULL, pid = report.pid,
            rendered_map_index = coalesce(report.rendered_map_index, instance.rendered_map_index)
        FROM unnest(%(ids)s::bigint[], %(attempt_ids)s::uuid[], %(outcomes)s::text[], %(ended)s::timestamptz[],
                    %(pids)s::int[], %(retry_delays)s::float8[], %(map_labels)s::text[], %(resumes)s::timestamptz[])
             AS report (id, attempt_id, outcome, ended_at, pid, retry_delay, rendered_map_index, resume_at)
             JOIN task_attempt AS attempt ON attempt.attempt_id = report.attempt_id AND attempt.month = %(month)s
        WHERE instance.id = report.id AND instance.month = %(month)s
          AND instance.attempt_id = report.attempt_id AND instance.state || '' IN ('queued', 'running', 'restarting')
        RETURNING report.attempt_id, instance.id, instance.dag_run_id, instance.state, instance.next_retry_at,
                  instance.resumes
    ), woken AS (
        INSERT INTO run_wakeup (dag_run_id, due_at, changed)
        SELECT dag_run_id, %(now)s, array_agg(id) FROM moved GROUP BY dag_run_id
    )
    SELECT attempt_id, id, dag_run_id, state, next_retry_at, resumes FROM moved
"""

_PUSH: Final = """
    INSERT INTO xcom (task_instance_id, key, month, value, length, created_at)
    SELECT pushed.id, pushed.key, %(month)s, pushed.value, pushed.length, %(now)s
    FROM unnest(%(ids)s::bigint[], %(keys)s::text[], %(values)s::text[], %(lengths)s::int[])
         AS pushed (id, key, value, length)
    ON CONFLICT (task_instance_id, key, month) DO UPDATE
    SET value = excluded.value, length = excluded.length, created_at = excluded.created_at
"""

_BEAT: Final = """
    UPDATE task_instance AS instance
    SET lease_until = %(lease_until)s
    FROM unnest(%(ids)s::bigint[], %(attempt_ids)s::uuid[]) AS beat (id, attempt_id)
    WHERE instance.id = beat.id AND instance.month = %(month)s AND instance.attempt_id = beat.attempt_id
      AND instance.state || '' IN ('queued', 'running')
    RETURNING instance.attempt_id
"""

_KEEP_QUEUED: Final = """
    UPDATE task_instance AS instance
    SET lease_until = %(lease_until)s
    FROM unnest(%(ids)s::bigint[], %(attempt_ids)s::uuid[]) AS waiting (id, attempt_id)
    WHERE instance.id = waiting.id AND instance.month = %(month)s AND instance.attempt_id = waiting.attempt_id
      AND instance.state || '' = 'queued'
    RETURNING instance.attempt_id
"""

# It never started: the next hand-over is the same try again, so it is not charged.
_TAKE_BACK: Final = """
    UPDATE task_instance
    SET state = 'scheduled', try_number = try_number - 1, attempt_id = NULL, lease_until = NULL
    WHERE month = %(month)s AND attempt_id = ANY(%(attempt_ids)s) AND id = ANY(%(ids)s) AND state = 'queued'
    RETURNING id
"""

_DROP_ATTEMPTS: Final = """
    DELETE FROM task_attempt WHERE month = %(month)s AND attempt_id = ANY(%(attempt_ids)s) AND outcome IS NULL
"""


def start(
    connection: Connection, reports: Sequence[Mapping[str, Any]], *, month: date, now: datetime, lease_until: datetime
) -> set[UUID]:
    """Move queued instances to running; return the attempt ids that may run their code.

    A report that was recorded before changes nothing and may run: its sender did not learn that it was.
    """
    return start_and(connection, reports, (), month=month, now=now, lease_until=lease_until)[0]


def start_and(
    connection: Connection,
    reports: Sequence[Mapping[str, Any]],
    further: Sequence[Statement],
    *,
    month: date,
    now: datetime,
    lease_until: datetime,
) -> tuple[set[UUID], list[Sequence[Any]]]:
    """Do as ``start``, and run ``further`` statements right after it, in its round trip; return their rows, too."""
    reports = sorted(reports, key=itemgetter("task_instance_id"))  # the lock order
    known = {
        "ids": [report["task_instance_id"] for report in reports],
        "attempt_ids": [report["attempt_id"] for report in reports],
        "hostnames": [report["hostname"] for report in reports],
        "started": [report.get("started_at") for report in reports],
        "month": month,
    }
    starting = (_START, known | {"now": now, "lease_until": lease_until})
    moved, *found = tuples_of_each(connection, starting, *further)
    again = [row[1] for row in moved if row[2] > 1 and not row[3]]
    if again:
        execute(connection, _FORGET_XCOMS, {"ids": again, "month": month})
    accepted = {row[0] for row in moved}
    if len(accepted) < len(reports):
        accepted |= {row[0] for row in tuples(connection, _STARTED_ALREADY, known)}
    return accepted, found


def finish(
    connection: Connection,
    reports: Sequence[Mapping[str, Any]],
    *,
    month: date,
    now: datetime,
    further: Sequence[Statement] = (),
) -> Sequence[Any]:
    """Move instances as their attempts ended, close the attempts and wake the runs; what is deferred waits from now on.

    ``further`` statements are run in the round trip of the first.

    Returns (attempt id, instance id, run id, new state, next retry) of each instance that moved.
    """
    parameters = _finish_parameters(sorted(reports, key=itemgetter("task_instance_id")))
    moved = tuples_of_each(connection, (_FINISH, parameters | {"month": month, "now": now}), *further)[0]
    waiting = {str(row[0]) for row in moved if row[3] == TaskState.DEFERRED}
    if waiting:
        deferred.begin(connection, [one for one in reports if one["attempt_id"] in waiting], month=month, now=now)
    gone_on = [row[1] for row in moved if row[5] and row[3] not in _SAME_TRY]
    deferred.over(connection, gone_on, month=month)
    return [row[:5] for row in moved]


def _finish_parameters(reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    def column(name: str) -> list[Any]:
        return [report.get(name) for report in reports]

    def texts(name: str) -> list[str | None]:
        return [json.dumps(value) if value else None for value in column(name)]

    def floats(name: str) -> list[float | None]:
        # JSON writes a whole number without a point, and an array of both kinds is refused.
        return [None if value is None else float(value) for value in column(name)]

    return {
        "ids": column("task_instance_id"),
        "attempt_ids": column("attempt_id"),
        "outcomes": column("outcome"),
        "started": column("started_at"),
        "ended": column("ended_at"),
        "hostnames": column("hostname"),
        "pids": column("pid"),
        "exit_codes": column("exit_code"),
        "signals": column("signal"),
        "peak_rss": column("peak_rss_bytes"),
        "cpu_seconds": floats("cpu_seconds"),
        "errors": texts("error"),
        "rendered": texts("rendered_fields"),
        "retry_delays": floats("retry_delay_seconds"),
        "map_labels": column("rendered_map_index"),
        "code_hashes": column("code_hash"),
        "resumes": [(report.get("resume") or {}).get("at") for report in reports],
        "longest_delay": LONGEST_RETRY_DELAY,
        "cleared": _CLEARED,
    }


def push_xcoms(
    connection: Connection, pushed: Sequence[tuple[int, Mapping[str, Any]]], *, month: date, now: datetime
) -> None:
    """Store XComs of (instance id, {"key", "value", "length"}); the last value of a key wins."""
    latest = {(instance, one["key"]): one for instance, one in pushed}
    if latest:
        execute(
            connection,
            _PUSH,
            {
                "ids": [instance for instance, _ in latest],
                "keys": [key for _, key in latest],
                "values": [one["value"] for one in latest.values()],
                "lengths": [one.get("length") for one in latest.values()],
                "month": month,
                "now": now,
            },
        )


def beat(
    connection: Connection, beats: Sequence[Mapping[str, Any]], *, month: date, lease_until: datetime
) -> set[UUID]:
    """Renew the leases of living attempts; return the attempts that are still theirs."""
    beats = sorted(beats, key=itemgetter("task_instance_id"))
    parameters = {
        "ids": [one["task_instance_id"] for one in beats],
        "attempt_ids": [one["attempt_id"] for one in beats],
        "month": month,
        "lease_until": lease_until,
    }
    return {row[0] for row in tuples(connection, _BEAT, parameters)}


def keep_queued(connection: Connection, waiting: Sequence[AttemptRef], *, lease_until: datetime) -> set[UUID]:
    """Renew the leases of attempts that wait for a worker; return those that no worker has started yet."""
    kept: set[UUID] = set()
    for month, batch in groupby(sorted(waiting, key=attrgetter("month", "task_instance_id")), key=attrgetter("month")):
        listed = list(batch)
        parameters = {
            "ids": [one.task_instance_id for one in listed],
            "attempt_ids": [one.attempt_id for one in listed],
            "month": month,
            "lease_until": lease_until,
        }
        kept |= {row[0] for row in tuples(connection, _KEEP_QUEUED, parameters)}
    return kept


def take_back(connection: Connection, ids: Sequence[int], attempt_ids: Sequence[UUID], *, month: date) -> int:
    """Move queued instances whose attempt never started back to scheduled; return how many moved."""
    parameters = {"ids": list(ids), "attempt_ids": list(attempt_ids), "month": month}
    moved = tuples(connection, _TAKE_BACK, parameters)
    execute(connection, _DROP_ATTEMPTS, parameters)
    return len(moved)
