"""Admit scheduled task instances: give each a fresh attempt and mark it queued, as far as the limits allow.

One scheduler at a time admits (an advisory lock, tried and never waited for), so that limits hold exactly. Candidates
are asked for pool by pool and DAG by DAG, and again without those whose run or task is full, so that neither a full
pool nor a capped DAG nor a long backlog hides other ready work (cases B5, H6). What is committed here goes to the
outbox, never what is not.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata import admission
from treadle_metadata.deciding.graph import Graph
from treadle_metadata.deciding.limits import Candidate, Limits, Load, Refusal, admit
from treadle_metadata.deciding.reasons import Reason
from treadle_metadata.deferrals import resumes_of
from treadle_metadata.identifiers import new_attempt_id
from treadle_metadata.queries.versions import older_sources
from treadle_metadata.transitions import queueing
from treadle_metadata.transitions.queueing import Picked
from treadle_scheduler.context import HELD_ELSEWHERE, Context, Done
from treadle_scheduler.expansion import Items
from treadle_scheduler.retries import retry_delay
from treadle_scheduler.triggered_starts import starting_from_triggers
from treadle_scheduler.workloads import log_path, workload

log = logging.getLogger(__name__)

ROUNDS: Final = 10
FEW: Final = 16
"""Where fewer instances than this are found, none was left out for the number of those before it (``candidates``)."""

Row = Mapping[str, Any]


def queue_tasks(context: Context) -> Done:
    """Queue what may run now and put its workloads into the outbox."""
    now = context.clock.now()
    handed: list[tuple[str, Any]] = []
    # Until it is known and committed that nothing is left.
    context.may_queue = True

    def act(connection: Connection) -> Done:
        handed.clear()
        held = admission.held_if_first(connection, context.settings)
        if held is None:
            return Done(0, now + HELD_ELSEWHERE, again=True)
        load, limits, since = held
        context.under_way = load.total
        if load.total >= limits.parallelism:
            return Done(again=True)
        chosen, left = _choose(connection, context, load, limits, since)
        context.under_way = load.total
        for month, batch in groupby(sorted(chosen, key=itemgetter("month")), key=itemgetter("month")):
            handed.extend(_queue(connection, context, list(batch), month, now))
        return Done(len(handed), again=left or len(handed) < len(chosen))

    done = context.database.run(act)
    context.may_queue = done.again
    context.outbox.extend(handed)
    return Done(done.count, done.next_at)


def _choose(
    connection: Connection, context: Context, load: Load, limits: Limits, since: date
) -> tuple[list[Row], bool]:
    """Return the rows to queue, and whether others may be ready. Each round looks past what the last found full."""
    chosen: dict[int, Row] = {}
    full = admission.Full(since=since)
    is_idle, known, is_all = not load.pools, set[str](), False
    for further in range(ROUNDS):
        full.chosen = set(chosen)
        full.executors = {name for name, most in limits.executors.items() if load.executors.get(name, 0) >= most}
        most = _most(load, limits, further)
        picks = admission.candidates(
            connection, most=most, full=full, turns=context.turns, executor=context.settings.executor
        )
        if further == 0:
            is_all = len(picks) < FEW and most.keys() == limits.pools.keys() and not full.executors
        if not picks:
            break
        if not is_idle:
            admission.add_engaged(connection, load, {row["dag_id"] for row in picks} - known, since=since)
            known |= {row["dag_id"] for row in picks}
        graphs, unusable = context.graphs.usable(connection, {row["version_id"] for row in picks})
        # Runs of a version that cannot be read are set aside when they are advanced (``quarantine``).
        full.runs |= {row["dag_run_id"] for row in picks if row["version_id"] in unusable}
        rows = {row["id"]: row for row in picks if row["version_id"] in graphs}
        order = [_candidate(row, graphs[row["version_id"]], context) for row in rows.values()]
        admitted, refused = admit(order, load, limits, context.turns)
        is_all = is_all and not (refused or unusable)
        _flag_impossible(connection, rows, refused)
        chosen |= {one.id: rows[one.id] for one in admitted}
        if not (refused or unusable) or load.total >= limits.parallelism:
            break
        _note_full(full, order, refused, load)
    return list(chosen.values()), not is_all


def _flag_impossible(connection: Connection, rows: Mapping[int, Row], refused: Mapping[int, Refusal]) -> None:
    """Tell, once, of tasks that can never run as things are: they want more slots than their pool has (case A24)."""
    found = {}
    for instance, refusal in refused.items():
        row = rows[instance]
        if refusal.reason is Reason.POOL_TOO_SMALL and row["waiting_for"] != refusal.sentence:
            found[row["month"], row["dag_run_id"], row["task_id"]] = refusal.sentence
            log.warning("task %r of run %r of DAG %r: %s", row["task_id"], row["run_id"], row["dag_id"], refusal)
    if found:
        admission.explain(connection, found)


def _most(load: Load, limits: Limits, further: int) -> dict[str, int]:
    """Return how many instances of each pool that has free slots to look at: those that fit, and some to pass over."""
    free = limits.parallelism - load.total
    room = {
        pool: free if slots < 0 else min(free, slots - load.pools.get(pool, 0)) for pool, slots in limits.pools.items()
    }
    return {pool: (slots + 16) << 2 * further for pool, slots in room.items() if slots > 0}


def _note_full(full: admission.Full, order: Sequence[Candidate], refused: Mapping[int, Refusal], load: Load) -> None:
    """Enter what the refused ones ran into, as widely as it holds: the next round sees past all of it."""
    for one in order:
        if load.runs.get(one.dag_run_id, 0) >= one.run_cap:
            full.runs.add(one.dag_run_id)
        elif one.task_cap is not None and load.tasks.get((one.dag_id, one.task_id), 0) >= one.task_cap:
            full.tasks.add((one.dag_id, one.task_id))
        elif one.id in refused:
            full.tasks_in_runs.add((one.dag_run_id, one.task_id))


def _candidate(row: Row, graph: Graph, context: Context) -> Candidate:
    position = graph.index.get(row["task_id"])
    task = graph.nodes[position].task if position is not None else None
    return Candidate(
        id=row["id"],
        dag_run_id=row["dag_run_id"],
        dag_id=row["dag_id"],
        task_id=row["task_id"],
        pool=row["pool"],
        pool_slots=row["pool_slots"],
        run_cap=graph.document.max_active_tasks or context.settings.max_active_tasks_per_dag,
        task_cap=task.max_active_tis_per_dag if task else None,
        task_cap_in_run=task.max_active_tis_per_dagrun if task else None,
        weight=row["priority_weight"],
        executor=row["executor"],
        is_backfill=row["is_backfill"],
        resumes=row["resumes"],
    )


def _queue(
    connection: Connection, context: Context, batch: Sequence[Row], month: date, now: datetime
) -> list[tuple[str, Any]]:
    graphs = context.graphs.get(connection, {row["version_id"] for row in batch})
    picked = [_pick(row, graphs[row["version_id"]]) for row in batch]
    lease_until = now + timedelta(seconds=context.settings.lease_seconds)
    moved = queueing.queue(connection, picked, month=month, now=now, lease_until=lease_until)
    triggered = starting_from_triggers(connection, context, batch, picked, graphs, month=month, now=now, moved=moved)
    items = Items(connection, month)
    resumes = resumes_of(connection, [row["id"] for row in batch if row["resumes"]], context.crypto)
    sources = older_sources(connection, {row["version_id"] for row in batch if row["is_older_version"]})
    for_executors = moved - triggered
    handed = []
    for row, one in zip(batch, picked, strict=True):
        if one.id in for_executors:
            graph = graphs[row["version_id"]]
            task = graph.nodes[graph.index[row["task_id"]]].task
            indexes = items.of(row["dag_run_id"], graph, task, row["map_index"])
            source = sources.get(row["version_id"])
            handed.append((one.executor, workload(row, one, graph, indexes, source, resumes.get(one.id))))
    return handed


def _pick(row: Row, graph: Graph) -> Picked:
    task = graph.nodes[graph.index[row["task_id"]]].task
    try_number = row["try_number"] + 1
    key = f"{row['dag_id']}#{row['run_id']}#{row['task_id']}#{row['map_index']}"
    return Picked(
        id=row["id"],
        attempt_id=new_attempt_id(),
        try_number=try_number,
        version_id=row["version_id"],
        executor=row["executor"],
        retry_delay_seconds=retry_delay(task, key=key, try_number=try_number),
        log_path=log_path(row, try_number),
        code_hash=row["file_hash"],
    )
