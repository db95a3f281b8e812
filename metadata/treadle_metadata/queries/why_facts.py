"""What ``queries.why`` reads: one statement for each question, over unfinished rows and single rows only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle.document import DagDocument, loads
from treadle.timetables.base import InvalidSchedule
from treadle.timetables.factory import from_document
from treadle_metadata import admission, processes
from treadle_metadata.deciding.limits import Candidate
from treadle_metadata.deciding.reasons import Reason
from treadle_metadata.deciding.turns import Turns
from treadle_metadata.deciding.why_dag import DagFacts, SchedulerFacts
from treadle_metadata.deciding.why_run import Room, RunFacts
from treadle_metadata.deciding.why_task import Holder, InstanceFacts, Waiting
from treadle_metadata.queries.health import daemon_health
from treadle_metadata.settings import Settings, executor_names
from treadle_metadata.statements import rows, tuples

Row = Mapping[str, Any]

MOST_LOOKED_AT: Final = 500
"""How many scheduled instances of each pool are looked at beside one."""


def scheduler_facts(connection: Connection, now: datetime) -> SchedulerFacts:
    """Return whether a scheduler is alive."""
    health = daemon_health(connection, ["scheduler"], now=now).get("scheduler")
    return SchedulerFacts(is_alive=False) if health is None else SchedulerFacts(health.is_alive, health.heartbeat_at)


def dag_facts(connection: Connection, dag_id: str, settings: Settings, now: datetime) -> DagFacts | None:
    """Return the facts of a DAG, or None if there is none."""
    found = rows(
        connection,
        """
        SELECT dag.*, version.number AS version_number, version.document, error.line AS error_line,
               error.message AS error_message, warning.message AS schedule_warning, active.number AS active_runs,
               active.names AS under_way
        FROM dag LEFT JOIN dag_version AS version ON version.id = dag.version_id
        LEFT JOIN import_error AS error ON error.file = dag.file
        LEFT JOIN dag_warning AS warning ON warning.dag_id = dag.dag_id AND warning.kind = 'schedule'
        CROSS JOIN LATERAL (
            SELECT count(*) AS number, (array_agg(run_id ORDER BY id))[1:3] AS names FROM dag_run
            WHERE dag_run.dag_id = dag.dag_id AND state IN ('queued', 'running') AND backfill_id IS NULL
              AND (state = 'running' OR run_after <= %(now)s)) AS active
        WHERE dag.dag_id = %(dag_id)s
        """,
        {"dag_id": dag_id, "now": now},
    )
    return _dag(found[0], settings) if found else None


def _dag(row: Row, settings: Settings) -> DagFacts:
    document = DagDocument(row["dag_id"]) if row["document"] is None else loads(row["document"])
    return DagFacts(
        dag_id=row["dag_id"],
        file=row["file"],
        is_paused=row["is_paused"],
        is_active=row["is_active"],
        import_error=error_line(row["error_line"], row["error_message"]) if row["has_import_errors"] else None,
        version_number=row["version_number"],
        schedule=row["schedule_summary"] or document.schedule.summary or None,
        has_schedule=document.schedule.kind != "none",
        start_date=_moment(document.start_date),
        end_date=_moment(document.end_date),
        next_run_at=row["next_run_at"],
        schedule_warning=row["schedule_warning"],
        run_limit=_run_limit(row, document, settings),
        active_runs=row["active_runs"],
        under_way=tuple(row["under_way"] or ()),
        condition=document.schedule.condition,
        partitions=document.schedule.partitions,
    )


def _run_limit(row: Row, document: DagDocument, settings: Settings) -> int:
    """Return the most runs that the schedule may have under way: the DAG's limit, within its timetable's."""
    limit: int = row["max_active_runs"] or settings.max_active_runs_per_dag
    try:
        of_timetable = from_document(document.schedule, default_style=settings.cron_style).active_runs_limit
    except InvalidSchedule:
        return limit
    return limit if of_timetable is None else min(limit, of_timetable)


def error_line(line: int | None, message: str | None) -> str:
    """Return an import error as one line."""
    text = next(iter((message or "").strip().splitlines()), "its error is listed by `treadle dags list-import-errors`")
    return text if line is None or f", line {line}: " in text else f"line {line}: {text}"


def files_with_errors(connection: Connection) -> list[tuple[str, str]]:
    """Return each file that cannot be imported, with its error as one line."""
    found = rows(connection, "SELECT file, line, message FROM import_error ORDER BY file")
    return [(row["file"], error_line(row["line"], row["message"])) for row in found]


def run_facts(run: Row, *, backfill_is_paused: bool = False) -> RunFacts:
    """Return the facts of a row of ``dag_run``."""
    return RunFacts(
        dag_id=run["dag_id"],
        run_id=run["run_id"],
        state=run["state"],
        run_after=run["run_after"],
        ended_at=run["ended_at"],
        backfill_id=run["backfill_id"],
        backfill_is_paused=backfill_is_paused,
    )


def oldest_waiting_run(connection: Connection, dag_id: str, now: datetime) -> Row | None:
    """Return the queued run of a DAG that starts next, backfills apart."""
    found = rows(
        connection,
        """
        SELECT * FROM dag_run
        WHERE dag_id = %(dag_id)s AND state = 'queued' AND run_after <= %(now)s AND backfill_id IS NULL
        ORDER BY run_after, id LIMIT 1
        """,
        {"dag_id": dag_id, "now": now},
    )
    return found[0] if found else None


def room_for(connection: Connection, run: Row, settings: Settings, now: datetime) -> tuple[Room, bool]:
    """Return the limit that a queued run must pass, and whether its backfill is paused."""
    (found,) = rows(
        connection,
        """
        SELECT backfill.is_paused AND backfill.completed_at IS NULL AS is_paused,
               coalesce(backfill.max_active_runs, dag.max_active_runs) AS most,
               others.active, others.names, others.before
        FROM dag LEFT JOIN backfill ON backfill.id = %(backfill_id)s::bigint CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE state = 'running') AS active,
                   (array_agg(run_id ORDER BY id) FILTER (WHERE state = 'running'))[1:3] AS names,
                   count(*) FILTER (WHERE state = 'queued' AND CASE
                       WHEN backfill.id IS NULL THEN run_after <= %(now)s
                            AND (run_after, dag_run.id) < (%(run_after)s::timestamptz, %(id)s::bigint)
                       WHEN backfill.run_backwards THEN logical_date > %(logical_date)s::timestamptz
                       ELSE logical_date < %(logical_date)s::timestamptz END) AS before
            FROM dag_run WHERE dag_run.dag_id = dag.dag_id AND state IN ('queued', 'running')
              AND backfill_id IS NOT DISTINCT FROM backfill.id) AS others
        WHERE dag.dag_id = %(dag_id)s
        """,
        {name: run[name] for name in ("dag_id", "id", "backfill_id", "run_after", "logical_date")} | {"now": now},
    )
    limit = found["most"] or settings.max_active_runs_per_dag
    room = Room(limit, found["active"], tuple(found["names"] or ()), found["before"])
    return room, bool(found["is_paused"])


def instance_rows(connection: Connection, run: Row, task_id: str, map_index: int) -> list[Row]:
    """Return the wanted instance of a task; with index -1, the first of its mapped instances that is to be explained.

    That is the first that waits, else the first that is not finished, else the first.
    """
    return list(
        rows(
            connection,
            """
            SELECT * FROM task_instance
            WHERE dag_run_id = %(run)s AND month = %(month)s AND task_id = %(task_id)s
              AND (%(map_index)s = -1 OR map_index = %(map_index)s)
            ORDER BY CASE WHEN state IN ('success', 'failed', 'skipped', 'upstream_failed') THEN 2
                          WHEN state = 'removed' THEN 3 WHEN state IN ('running', 'restarting') THEN 1 ELSE 0 END,
                     map_index
            LIMIT 1
            """,
            {"run": run["id"], "month": run["month"], "task_id": task_id, "map_index": map_index},
        )
    )


def telling_instance(connection: Connection, run: Row) -> Row | None:
    """Return the unfinished instance of a run that explains best what the run waits for: the furthest on."""
    found = rows(
        connection,
        """
        SELECT * FROM task_instance
        WHERE dag_run_id = %(run)s AND month = %(month)s
          AND state NOT IN ('success', 'failed', 'skipped', 'upstream_failed', 'removed')
        ORDER BY array_position(ARRAY['running', 'restarting', 'queued', 'scheduled', 'up_for_retry',
                                      'up_for_reschedule', 'deferred', 'none'], state), id
        LIMIT 1
        """,
        {"run": run["id"], "month": run["month"]},
    )
    return found[0] if found else None


def instance_facts(row: Row, run_id: str) -> InstanceFacts:
    """Return the facts of a row of ``task_instance``."""
    names = (
        "id",
        "dag_id",
        "task_id",
        "map_index",
        "state",
        "try_number",
        "max_tries",
        "executor",
        "hostname",
        "queued_at",
        "started_at",
        "ended_at",
        "lease_until",
        "next_retry_at",
        "waiting_for",
    )
    return InstanceFacts(run_id=run_id, **{name: row[name] for name in names})


def warning_of(connection: Connection, dag_id: str, kind: str) -> str | None:
    """Return the warning of this ``kind`` about a DAG, if there is one."""
    sql = "SELECT message FROM dag_warning WHERE dag_id = %(dag_id)s AND kind = %(kind)s"
    found = tuples(connection, sql, {"dag_id": dag_id, "kind": kind})
    return found[0][0] if found else None


def run_before(connection: Connection, run: Row) -> str | None:
    """Return the run id of the run before by logical date, of which ``planning.past_states`` tells the states."""
    found = tuples(
        connection,
        """
        SELECT run_id FROM dag_run WHERE dag_id = %(dag_id)s AND logical_date < %(logical_date)s
        ORDER BY logical_date DESC LIMIT 1
        """,
        {"dag_id": run["dag_id"], "logical_date": run["logical_date"]},
    )
    return found[0][0] if found else None


def ready_with(
    connection: Connection, row: Row, settings: Settings, pools: Collection[str]
) -> tuple[Waiting, list[Waiting]]:
    """Return a scheduled instance, and the others that the scheduler would look at beside it."""
    found = admission.candidates(
        connection,
        most=dict.fromkeys(pools, MOST_LOOKED_AT),
        full=admission.Full(),
        turns=Turns(),
        executor=settings.executor,
    )
    places = {one["id"]: one["month"] for one in found} | {row["id"]: row["month"]}
    others = [_waiting(one, settings) for one in _with_caps(connection, places)]
    me = next(one for one in others if one.candidate.id == row["id"])
    return me, [one for one in others if one is not me]


def _with_caps(connection: Connection, places: Mapping[int, date]) -> Sequence[Row]:
    """Return instances (their months by id) with the caps that their runs' versions give them, older runs first."""
    return rows(
        connection,
        """
        SELECT instance.id, instance.dag_run_id, instance.dag_id, instance.task_id, instance.map_index, instance.pool,
               instance.pool_slots, instance.priority_weight, instance.executor, instance.is_backfill,
               instance.resumes, run.run_id,
               (version.document ->> 'max_active_tasks')::int AS run_cap,
               (task ->> 'max_active_tis_per_dag')::int AS task_cap,
               (task ->> 'max_active_tis_per_dagrun')::int AS task_cap_in_run
        FROM unnest(%(ids)s::bigint[], %(months)s::date[]) AS place (id, month)
        JOIN task_instance AS instance ON instance.id = place.id AND instance.month = place.month
        JOIN dag_run AS run ON run.id = instance.dag_run_id
        JOIN dag_version AS version ON version.id = run.version_id
        LEFT JOIN LATERAL jsonb_path_query_first(
            version.document, '$.tasks[*] ? (@.task_id == $name)', jsonb_build_object('name', instance.task_id)
        ) AS task ON true
        ORDER BY instance.dag_run_id, instance.id
        """,
        {"ids": list(places), "months": list(places.values())},
    )


def _waiting(row: Row, settings: Settings) -> Waiting:
    candidate = Candidate(
        id=row["id"],
        dag_run_id=row["dag_run_id"],
        dag_id=row["dag_id"],
        task_id=row["task_id"],
        pool=row["pool"],
        pool_slots=row["pool_slots"],
        run_cap=row["run_cap"] or settings.max_active_tasks_per_dag,
        task_cap=row["task_cap"],
        task_cap_in_run=row["task_cap_in_run"],
        weight=row["priority_weight"],
        executor=row["executor"] or settings.executor,
        is_backfill=row["is_backfill"],
        resumes=row["resumes"],
    )
    return Waiting(candidate, row["run_id"], row["map_index"], row["priority_weight"])


def holders(
    connection: Connection, me: Candidate, reason: Reason, settings: Settings
) -> tuple[list[Holder], int, bool]:
    """Return the first active instances that hold what ``reason`` names, how many there are, and whether all of them
    are sensors that wait in their slots."""
    wanted = {
        "pool": me.pool if reason is Reason.POOL else None,
        "executor": me.executor if reason is Reason.EXECUTOR_FULL else None,
        "default": settings.executor,
        "run": me.dag_run_id if reason in (Reason.DAG_CAP, Reason.TASK_CAP_IN_RUN) else None,
        "dag_id": me.dag_id if reason in (Reason.TASK_CAP, Reason.TASK_CAP_IN_RUN) else None,
        "task_id": me.task_id if reason in (Reason.TASK_CAP, Reason.TASK_CAP_IN_RUN) else None,
    }
    found = tuples(
        connection,
        """
        SELECT instance.dag_id, run.run_id, instance.task_id, instance.map_index, instance.state, instance.pool_slots,
               instance.total, instance.all_wait
        FROM (
            SELECT active.*, count(*) OVER () AS total,
                   bool_and(active.state = 'running' AND wait.attempt_id IS NOT NULL) OVER () AS all_wait
            FROM task_instance AS active LEFT JOIN slot_pool ON slot_pool.name = active.pool
                 LEFT JOIN sensor_wait AS wait ON wait.task_instance_id = active.id AND wait.month = active.month
                      AND wait.attempt_id = active.attempt_id AND wait.mode = 'poke'
            WHERE active.state IN ('queued', 'running', 'restarting', 'deferred')
              AND (active.state <> 'deferred' OR slot_pool.include_deferred)
              AND (%(pool)s::text IS NULL OR active.pool = %(pool)s)
              AND (%(executor)s::text IS NULL OR coalesce(active.executor, %(default)s) = %(executor)s)
              AND (%(run)s::bigint IS NULL OR active.dag_run_id = %(run)s)
              AND (%(task_id)s::text IS NULL OR (active.dag_id, active.task_id) = (%(dag_id)s, %(task_id)s))
            ORDER BY active.started_at NULLS LAST, active.id LIMIT 3
        ) AS instance JOIN dag_run AS run ON run.id = instance.dag_run_id
        ORDER BY instance.started_at NULLS LAST, instance.id
        """,
        wanted,
    )
    return [Holder(*row[:6]) for row in found], found[0][6] if found else 0, bool(found) and found[0][7]


def attempt_facts(connection: Connection, row: Row) -> Row:
    """Return the executor and the error of an instance's newest attempt; none, while there was no attempt."""
    found = rows(
        connection,
        """
        SELECT executor, error ->> 'type' AS type, error ->> 'message' AS message,
               error ->> 'retry_reason' AS retry_reason
        FROM task_attempt
        WHERE attempt_id = %(attempt)s AND month = %(month)s
        """,
        {"attempt": row["attempt_id"], "month": row["month"]},
    )
    return found[0] if found else {"executor": row["executor"], "type": None, "message": None, "retry_reason": None}


def executors(connection: Connection, settings: Settings, now: datetime) -> dict[str, dict[str | None, str]]:
    """Return the executors that living schedulers have, each with its troubles by queue (None: of all queues).

    Where no scheduler lives, those that the settings name.
    """
    found: dict[str, dict[str | None, str]] = {}
    for process in processes.alive(connection, now):
        for name, troubles in (process.executors or {}).items():
            found.setdefault(name, {}).update({one["queue"]: str(one["sentence"]) for one in troubles})
    return found or {name: {} for name in executor_names(settings)}


def running_in(connection: Connection, executor: str, now: datetime) -> tuple[int, int]:
    """Return how many attempts an executor runs, and how many schedulers are alive, each with such an executor."""
    ((running, schedulers),) = tuples(
        connection,
        """
        SELECT (SELECT count(*) FROM task_instance AS instance
                JOIN task_attempt AS attempt ON attempt.attempt_id = instance.attempt_id
                     AND attempt.month = instance.month
                WHERE instance.state IN ('running', 'restarting') AND attempt.executor = %(executor)s),
               (SELECT count(*) FROM process
                WHERE kind = 'scheduler' AND stopped_at IS NULL AND lease_until > %(now)s)
        """,
        {"executor": executor, "now": now},
    )
    return running, schedulers


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
