"""Reads what the checker judges: the rows of a database at rest, and what tasks and callbacks noted in files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path

from sqlalchemy import Connection

from bench import chaos_dags
from bench.chaos_dags import Notes
from bench.records import (
    Attempt,
    Backfill,
    Call,
    Callback,
    Dag,
    Deadline,
    Event,
    Excuse,
    History,
    Instance,
    Limits,
    Missed,
    Move,
    Run,
    Shape,
    Sign,
    Step,
    StepDone,
    WrongClock,
)
from treadle import document as documents
from treadle.document import AssetCondition, DagDocument
from treadle.durable.keys import idempotency_key
from treadle_metadata.settings import Settings, executor_limits
from treadle_metadata.statements import rows, tuples

DAY = 86400.0
Names = Mapping[tuple[str, str, str, int], int]
"""Instances by DAG, run, task and map index."""

_RUNS = """
    SELECT id, dag_id, state, run_id, run_type, backfill_id, clear_number, extract(epoch FROM run_after)::float8,
           extract(epoch FROM queued_at)::float8, extract(epoch FROM ended_at)::float8
    FROM dag_run ORDER BY id
"""
_INSTANCES = """
    SELECT id, dag_run_id, dag_id, task_id, map_index, state, try_number, max_tries, pool, pool_slots,
           coalesce(executor, %(executor)s) AS executor
    FROM task_instance ORDER BY id
"""
_ATTEMPTS = """
    SELECT attempt_id::text, task_instance_id, try_number, outcome, called_back_at IS NOT NULL FROM task_attempt
"""
_MOVES = "SELECT id, entity, entity_id, old_state, new_state, attempt_id::text FROM state_transition ORDER BY id"
_CALLBACKS = """
    SELECT id, dag_run_id, event, state, task_instance_id AS instance_id, (facts ->> 'try_number')::int AS try_number,
           (facts -> 'deadline' ->> 'id')::bigint AS deadline_id,
           extract(epoch FROM (facts ->> 'ended_at')::timestamptz
                              - (facts -> 'deadline' ->> 'deadline_time')::timestamptz)::float8 AS late_by
    FROM callback ORDER BY id
"""
_DEADLINES = "SELECT id, dag_run_id, missed_at IS NOT NULL FROM deadline ORDER BY id"
_CONSUMED = "SELECT dag_id, event_id, dag_run_id FROM dag_run_asset_event"
_GATHERED = "SELECT dag_id, name, event_id FROM asset_run_queue"
_EVENTS = """
    SELECT event.id, asset.name, event.source_dag_id, event.source_run_id, event.source_task_id, event.source_map_index
    FROM asset_event AS event JOIN asset ON asset.id = event.asset_id ORDER BY event.id
"""
_BACKFILLS = """
    SELECT id, extract(epoch FROM from_date)::float8, extract(epoch FROM to_date)::float8, completed_at IS NOT NULL
    FROM backfill ORDER BY id
"""
_STEPS = """
    SELECT step.journal_id::text, step.name, step.inputs, step.task_instance_id,
           extract(epoch FROM step.done_at)::float8
    FROM durable_step AS step JOIN durable_journal AS journal ON journal.id = step.journal_id
    WHERE step.done_at IS NOT NULL OR journal.discarded_at IS NULL
"""
_MISSED = """
    SELECT dag_id, extract(epoch FROM run_after)::float8, extract(epoch FROM last_run_after)::float8 FROM missed_slot
"""


def read(
    connection: Connection,
    notes: Notes,
    settings: Settings,
    *,
    excuses: Sequence[Excuse] = (),
    overlap_seconds: float = 0.0,
    marked: Set[int] = frozenset(),
    wrong_clocks: Sequence[WrongClock] = (),
) -> History:
    """Return the whole history.

    A line of the signs is DAG, run, task, map index, try, pid, kind and time, one of the calls is event, DAG, run,
    task, map index and try, one of the steps is key, pid and time. ``marked`` are the runs that people ended.
    """
    runs = [Run(*row) for row in tuples(connection, _RUNS)]
    instances = [Instance(**row) for row in rows(connection, _INSTANCES, {"executor": settings.executor})]
    keys = {run.id: (run.dag_id, run.run_id) for run in runs}
    names = {(*keys[one.dag_run_id], one.task_id, one.map_index): one.id for one in instances}
    callbacks = [Callback(**row) for row in rows(connection, _CALLBACKS)]
    return History(
        runs=runs,
        instances=instances,
        attempts=[Attempt(*row) for row in tuples(connection, _ATTEMPTS)],
        moves=[Move(*row) for row in tuples(connection, _MOVES)],
        limits=limits(connection, settings),
        signs=list(_signs(notes.signs, names)),
        excuses=excuses,
        overlap_seconds=overlap_seconds,
        marked=marked,
        wrong_clocks=wrong_clocks,
        dags=_dags(connection),
        callbacks=callbacks,
        calls=list(_calls(notes.calls, names, {key: run for run, key in keys.items()})),
        deadlines=[Deadline(*row) for row in tuples(connection, _DEADLINES)],
        events=[
            Event(row[0], row[1], names.get((row[2], row[3], row[4], row[5]))) for row in tuples(connection, _EVENTS)
        ],
        consumed=[(*row,) for row in tuples(connection, _CONSUMED)],
        gathered=[(*row,) for row in tuples(connection, _GATHERED)],
        backfills=[
            Backfill(number, tuple(_days(first, last)), done)
            for number, first, last, done in tuples(connection, _BACKFILLS)
        ],
        missed=[Missed(*row) for row in tuples(connection, _MISSED)],
        steps=[Step(idempotency_key(*row[:3]), row[3], row[4]) for row in tuples(connection, _STEPS)],
        steps_done=list(_steps_done(notes.steps)),
        waits=chaos_dags.WAITS,
        triggers=tuples(connection, "SELECT count(*) FROM trigger")[0][0],
    )


def limits(connection: Connection, settings: Settings) -> Limits:
    """Return the limits that hold: of the settings, the pools, and each DAG's newest version."""
    newest = rows(
        connection,
        """
        SELECT dag_version.document, dag.max_active_runs
        FROM dag JOIN dag_version ON dag_version.id = dag.version_id
        """,
    )
    dags = [(documents.loads(row["document"]), row["max_active_runs"]) for row in newest]
    tasks = [((dag.dag_id, task.task_id), task) for dag, _ in dags for task in dag.tasks]
    return Limits(
        parallelism=settings.parallelism,
        executors=executor_limits(settings),
        pools={row["name"]: row["slots"] for row in rows(connection, "SELECT name, slots FROM slot_pool")},
        runs_of_dag={dag.dag_id: most or settings.max_active_runs_per_dag for dag, most in dags},
        runs_of_backfill=dict(tuples(connection, "SELECT id, max_active_runs FROM backfill")),
        tasks_of_run={dag.dag_id: dag.max_active_tasks or settings.max_active_tasks_per_dag for dag, _ in dags},
        instances_of_task={
            key: task.max_active_tis_per_dag for key, task in tasks if task.max_active_tis_per_dag is not None
        },
        instances_of_task_in_run={
            key: task.max_active_tis_per_dagrun for key, task in tasks if task.max_active_tis_per_dagrun is not None
        },
    )


def _dags(connection: Connection) -> dict[str, Dag]:
    """Return what DAGs promise: the tasks of all versions, and the schedule of any that had one."""
    found = tuples(connection, "SELECT document FROM dag_version ORDER BY id")
    versions: dict[str, list[DagDocument]] = defaultdict(list)
    for (document,) in found:
        one = documents.loads(document)
        versions[one.dag_id].append(one)
    return {dag_id: _dag(of_dag) for dag_id, of_dag in versions.items()}


def _dag(versions: Sequence[DagDocument]) -> Dag:
    newest = versions[-1]
    condition = newest.schedule.condition
    return Dag(
        tasks={name: shape for one in versions for name, shape in _shapes(one).items()},
        callbacks=frozenset(newest.callbacks),
        deadline_seconds=tuple(one.interval_seconds for one in newest.deadlines),
        consumes=frozenset(_assets(condition) if condition is not None else ()),
        consumes_any=condition is not None and condition.kind != "all",
        every=next((one.schedule.seconds for one in versions if one.schedule.kind == "delta"), None),
    )


def _assets(condition: AssetCondition) -> Iterator[str]:
    if condition.kind == "asset":
        yield condition.name
    for inner in condition.inner:
        yield from _assets(inner)


def _shapes(dag: DagDocument) -> dict[str, Shape]:
    parents = {group.group_id: group.parent for group in dag.groups}
    mapped = {group.group_id for group in dag.groups if group.expand is not None}
    shapes = {}
    for task in dag.tasks:
        group = task.group_id
        while group is not None and group not in mapped:
            group = parents[group]
        shapes[task.task_id] = Shape(
            upstream=task.upstream,
            rule=task.trigger_rule,
            mapped_group=group,
            setups=task.setups,
            callbacks=frozenset(task.callbacks),
            outlets=len(task.outlets),
        )
    return shapes


def _days(first: float, last: float) -> Iterator[float]:
    while first <= last:
        yield first
        first += DAY


def _signs(path: Path, names: Names) -> Iterator[Sign]:
    for line in path.read_text().splitlines():
        dag_id, run_id, task_id, index, number, pid, kind, at = line.split("|")
        yield Sign(names[dag_id, run_id, task_id, int(index)], int(number), int(pid), kind, float(at))


def _calls(path: Path, names: Names, runs: Mapping[tuple[str, str], int]) -> Iterator[Call]:
    for line in path.read_text().splitlines():
        event, dag_id, run_id, task_id, index, number = line.split("|")
        instance = names[dag_id, run_id, task_id, int(index)] if task_id else None
        yield Call(event, runs[dag_id, run_id], instance, int(number))


def _steps_done(path: Path) -> Iterator[StepDone]:
    for line in path.read_text().splitlines():
        key, pid, at = line.split("|")
        yield StepDone(key, int(pid), float(at))
