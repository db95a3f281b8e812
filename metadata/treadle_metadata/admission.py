"""What the admission of tasks reads: what is under way, pools' sizes, and ready instances in their turns.

Counts are read in two steps: for all what pools and executors hold, and only for the DAGs that have something ready
how far their caps are used. So a beat with 2,000 running instances and a few ready ones reads little.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata import claims
from treadle_metadata.deciding.graph import Graph
from treadle_metadata.deciding.limits import Limits, Load
from treadle_metadata.deciding.turns import Turns
from treadle_metadata.settings import Settings, executor_limits
from treadle_metadata.statements import execute, rows, tuples, tuples_of_each

_HELD: Final = """
    SELECT slot_pool.name, slot_pool.slots, active.pool, active.executor, active.number, active.slots,
           (SELECT min(month) FROM dag_run WHERE state IN ('queued', 'running'))
    FROM slot_pool FULL JOIN (
        SELECT pool, coalesce(executor, %(executor)s) AS executor,
               count(*) FILTER (WHERE state <> 'deferred') AS number, sum(pool_slots)::bigint AS slots
        FROM task_instance
        WHERE state IN ('queued', 'running', 'restarting', 'deferred')
          AND (state <> 'deferred' OR pool IN (SELECT name FROM slot_pool WHERE include_deferred))
        GROUP BY 1, 2
    ) AS active ON active.pool = slot_pool.name
"""

_ENGAGED: Final = """
    SELECT dag_run_id, dag_id, task_id, pool, count(*) FILTER (WHERE state <> 'deferred'), sum(pool_slots)::bigint
    FROM task_instance
    WHERE state IN ('queued', 'running', 'restarting', 'deferred') AND month >= %(since)s AND dag_id = ANY(%(dag_ids)s)
      AND (state <> 'deferred' OR pool IN (SELECT name FROM slot_pool WHERE include_deferred))
    GROUP BY dag_run_id, dag_id, task_id, pool
"""

WINDOW: Final = 200
"""How many DAGs of one standing are looked at together, once they have more ready instances than are wanted."""

# The index task_instance_to_queue is walked from one DAG to the next, whatever the backlog of either, round from the
# one that follows the DAG served last; then to the next lower weight, unless enough is found. A row without instances
# begins each weight. Each DAG shows its first few, and the window deals them out in turn, as deciding.turns does, which
# has the last word on what is returned here.
_CANDIDATES: Final = """
    WITH RECURSIVE turn AS (
        SELECT * FROM unnest(%(turn_pools)s::text[], %(turn_backfills)s::bool[], %(turn_weights)s::int[],
                             %(turn_dags)s::text[]) AS turn (pool, is_backfill, weight, dag_id)
    ), line AS (
        SELECT pool, most, false AS is_backfill, 2147483647 AS weight, '' AS dag_id, '' AS start, false AS wrapped,
               '{}'::bigint[] AS ids, '{}'::date[] AS months, 0 AS seen, 0 AS dags
        FROM unnest(%(pools)s::text[], %(most)s::int[]) AS wanted (pool, most)
        UNION ALL
        SELECT line.pool, line.most, head.is_backfill, head.weight, coalesce(head.dag_id, first.dag_id),
               coalesce(first.dag_id, line.start), head.wrapped, ready.ids, ready.months,
               line.seen + cardinality(ready.ids), CASE WHEN head.dag_id IS NULL THEN 0 ELSE line.dags + 1 END
        FROM line CROSS JOIN LATERAL (
            SELECT * FROM (
                (SELECT is_backfill, priority_weight AS weight, dag_id, false AS wrapped FROM task_instance
                 WHERE state = 'scheduled' AND month >= %(since)s AND pool = line.pool
                   AND is_backfill = line.is_backfill AND priority_weight = line.weight AND dag_id > line.dag_id
                   AND NOT line.wrapped AND (line.seen < line.most OR line.dags < %(window)s)
                 ORDER BY dag_id LIMIT 1)
                UNION ALL
                (SELECT is_backfill, priority_weight, dag_id, true FROM task_instance
                 WHERE state = 'scheduled' AND month >= %(since)s AND pool = line.pool
                   AND is_backfill = line.is_backfill AND priority_weight = line.weight AND dag_id <= line.start
                   AND dag_id > CASE WHEN line.wrapped THEN line.dag_id ELSE '' END
                   AND (line.seen < line.most OR line.dags < %(window)s)
                 ORDER BY dag_id LIMIT 1)
                UNION ALL
                (SELECT is_backfill, priority_weight, NULL, false FROM task_instance
                 WHERE state = 'scheduled' AND month >= %(since)s AND pool = line.pool
                   AND is_backfill = line.is_backfill AND priority_weight < line.weight AND line.seen < line.most
                 ORDER BY priority_weight DESC LIMIT 1)
                UNION ALL
                (SELECT is_backfill, priority_weight, NULL, false FROM task_instance
                 WHERE state = 'scheduled' AND month >= %(since)s AND pool = line.pool AND is_backfill
                   AND NOT line.is_backfill AND line.seen < line.most
                 ORDER BY priority_weight DESC LIMIT 1)
            ) AS following LIMIT 1
        ) AS head CROSS JOIN LATERAL (
            SELECT CASE WHEN head.dag_id IS NULL THEN coalesce((
                SELECT turn.dag_id FROM turn
                WHERE turn.pool = line.pool AND turn.is_backfill = head.is_backfill AND turn.weight = head.weight), '')
            END AS dag_id
        ) AS first CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(id), '{}') AS ids, coalesce(array_agg(month), '{}') AS months FROM (
                SELECT id, month FROM task_instance AS instance
                WHERE state = 'scheduled' AND month >= %(since)s AND pool = line.pool AND is_backfill = head.is_backfill
                  AND priority_weight = head.weight AND dag_id = head.dag_id
                  AND NOT EXISTS (
                      SELECT FROM dag WHERE dag.dag_id = head.dag_id AND (dag.is_paused OR NOT dag.is_active))
                  AND (SELECT own.state FROM dag_run AS own WHERE own.id = instance.dag_run_id) = 'running'
                  AND id <> ALL(%(chosen)s) AND dag_run_id <> ALL(%(full_runs)s)
                  AND coalesce(executor, %(executor)s) <> ALL(%(full_executors)s)
                  AND (dag_id, task_id) NOT IN (
                      SELECT * FROM unnest(%(full_dag_ids)s::text[], %(full_task_ids)s::text[]))
                  AND (dag_run_id, task_id) NOT IN (
                      SELECT * FROM unnest(%(full_task_runs)s::bigint[], %(full_tasks_of_runs)s::text[]))
                ORDER BY dag_run_id, id
                LIMIT greatest(16, line.most - line.seen, line.most / (line.dags + 1))
            ) AS first
        ) AS ready
    ), dealt AS (
        SELECT one.id, one.month, line.most, row_number() OVER (
                   PARTITION BY line.pool
                   ORDER BY line.is_backfill, line.weight DESC, share.slots + one.place, line.wrapped, line.dag_id)
               AS place
        FROM line CROSS JOIN LATERAL (
            SELECT coalesce(sum(pool_slots), 0) AS slots FROM task_instance
            WHERE state IN ('queued', 'running', 'restarting', 'deferred') AND month >= %(since)s
              AND dag_id = line.dag_id AND pool = line.pool
        ) AS share CROSS JOIN LATERAL unnest(line.ids, line.months) WITH ORDINALITY AS one (id, month, place)
    ), resuming AS (
        -- What was deferred keeps its place: it is looked at whatever else of its DAG stands before it.
        SELECT one.id, one.month
        FROM unnest(%(pools)s::text[], %(most)s::int[]) AS wanted (pool, most) CROSS JOIN LATERAL (
            SELECT id, month FROM task_instance AS instance
            WHERE state = 'scheduled' AND resumes AND month >= %(since)s AND pool = wanted.pool
              AND NOT EXISTS (
                  SELECT FROM dag WHERE dag.dag_id = instance.dag_id AND (dag.is_paused OR NOT dag.is_active))
              AND (SELECT own.state FROM dag_run AS own WHERE own.id = instance.dag_run_id) = 'running'
              AND id <> ALL(%(chosen)s) AND dag_run_id <> ALL(%(full_runs)s)
              AND coalesce(executor, %(executor)s) <> ALL(%(full_executors)s)
              AND (dag_id, task_id) NOT IN (
                  SELECT * FROM unnest(%(full_dag_ids)s::text[], %(full_task_ids)s::text[]))
              AND (dag_run_id, task_id) NOT IN (
                  SELECT * FROM unnest(%(full_task_runs)s::bigint[], %(full_tasks_of_runs)s::text[]))
            ORDER BY is_backfill, priority_weight DESC, id
            LIMIT wanted.most
        ) AS one
    )
    SELECT instance.id, instance.month, instance.dag_run_id, instance.dag_id, instance.task_id, instance.map_index,
           instance.try_number, instance.max_tries, instance.pool, instance.pool_slots, instance.queue,
           coalesce(instance.executor, %(executor)s) AS executor, instance.is_backfill, instance.priority_weight,
           instance.waiting_for, instance.resumes,
           run.run_id, run.version_id, run.run_type, run.logical_date, run.interval_start, run.interval_end,
           run.run_after, run.started_at AS run_started_at, run.conf, run.triggered_by, run.clear_number,
           run.partition_key, run.partition_date, dag.file, version.file_hash,
           run.version_id <> dag.version_id AS is_older_version
    FROM (
        SELECT id, month FROM dealt WHERE place <= most UNION SELECT id, month FROM resuming
    ) AS dealt CROSS JOIN LATERAL (
        -- Row by row, whatever the planner believes of their number: a join of all would read the whole history.
        SELECT * FROM task_instance WHERE id = dealt.id AND month = dealt.month AND month >= %(since)s LIMIT 1
    ) AS instance CROSS JOIN LATERAL (
        SELECT * FROM dag_run WHERE id = instance.dag_run_id LIMIT 1
    ) AS run CROSS JOIN LATERAL (
        SELECT file_hash FROM dag_version WHERE id = run.version_id LIMIT 1
    ) AS version CROSS JOIN LATERAL (
        SELECT file, version_id FROM dag WHERE dag_id = run.dag_id LIMIT 1
    ) AS dag
"""


Held = tuple[Load, Limits, date]


def held_if_first(connection: Connection, settings: Settings) -> Held | None:
    """Take the admission lock until the transaction ends and return what is ``held``; None if another holds the lock.

    One round trip. What is held is read by a statement of its own, which begins when the lock is there.
    """
    locked, found = tuples_of_each(connection, claims.ADMISSION, (_HELD, {"executor": settings.executor}))
    return _held(found, settings) if locked[0][0] else None


def held(connection: Connection, settings: Settings) -> Held:
    """Return what pools and executors hold, the limits, and the first month of a run that is not over.

    Tasks that name no executor are with the default one. Deferred instances hold their slots where their pool says so,
    and nothing else. Nothing of a month before that one is ready or under way: what looks for it need not open the
    partitions of a long past.
    """
    return _held(tuples(connection, _HELD, {"executor": settings.executor}), settings)


def _held(found: Sequence[Any], settings: Settings) -> Held:
    load = Load()
    pools = {}
    since = date.max
    for name, size, pool, executor, count, slots, first in found:
        if name is not None:
            pools[name] = size
        if pool is not None:
            load.hold(pool=pool, executor=executor, slots=slots, count=count)
        since = first or since
    return load, Limits(settings.parallelism, pools, executor_limits(settings)), since


def add_engaged(connection: Connection, load: Load, dag_ids: Collection[str], *, since: date = date.min) -> None:
    """Enter into ``load`` how far the caps of these DAGs' runs and tasks are used, and their shares of pools."""
    parameters = {"dag_ids": list(dag_ids), "since": since}
    for run, dag_id, task_id, pool, count, slots in tuples(connection, _ENGAGED, parameters):
        load.engage(dag_run_id=run, dag_id=dag_id, task_id=task_id, pool=pool, slots=slots, count=count)


@dataclass(slots=True)
class Full:
    """What is to be passed over: what can take no further instance now, and what is chosen already."""

    chosen: set[int] = field(default_factory=set)
    executors: set[str] = field(default_factory=set)
    runs: set[int] = field(default_factory=set)
    tasks: set[tuple[str, str]] = field(default_factory=set)
    """DAG and task."""
    tasks_in_runs: set[tuple[int, str]] = field(default_factory=set)
    """Run and task."""
    since: date = date.min
    """The first month that has anything at all, as ``held`` tells."""

    def parameters(self) -> dict[str, Any]:
        """Return it as the arrays that the statement takes."""
        return {
            "since": self.since,
            "chosen": list(self.chosen),
            "full_executors": list(self.executors),
            "full_runs": list(self.runs),
            "full_dag_ids": [dag for dag, _ in self.tasks],
            "full_task_ids": [task for _, task in self.tasks],
            "full_task_runs": [run for run, _ in self.tasks_in_runs],
            "full_tasks_of_runs": [task for _, task in self.tasks_in_runs],
        }


def candidates(
    connection: Connection, *, most: Mapping[str, int], full: Full, turns: Turns, executor: str
) -> Sequence[Mapping[str, Any]]:
    """Return, for each pool of ``most``, so many scheduled instances at the most: those whose turn comes first.

    They stand in the order of their runs, which is no order of turns.

    Left out are instances of what is ``full``, of DAGs that are paused or gone from their file, and of runs that are
    not running. The file and its hash are read each time: an edit that leaves the DAG as it was makes no new version.
    """
    last = turns.all()
    parameters = {
        "pools": list(most),
        "most": list(most.values()),
        "window": WINDOW,
        "executor": executor,
        "turn_pools": [pool for pool, _, _ in last],
        "turn_backfills": [standing[0] for _, standing, _ in last],
        "turn_weights": [-standing[1] for _, standing, _ in last],
        "turn_dags": [dag_id for _, _, dag_id in last],
    }
    found = rows(connection, _CANDIDATES, parameters | full.parameters())
    return sorted(found, key=itemgetter("dag_run_id", "id"))


def explain(connection: Connection, reasons: Mapping[tuple[date, int, str], str]) -> None:
    """Store why the scheduled instances of these tasks (by month, run and task) can never be queued as things are."""
    execute(
        connection,
        """
        UPDATE task_instance AS instance SET waiting_for = told.reason
        FROM unnest(%(months)s::date[], %(runs)s::bigint[], %(tasks)s::text[], %(reasons)s::text[])
             AS told (month, dag_run_id, task_id, reason)
        WHERE instance.month = told.month AND instance.dag_run_id = told.dag_run_id
          AND instance.task_id = told.task_id AND instance.state = 'scheduled'
        """,
        {
            "months": [month for month, _, _ in reasons],
            "runs": [run for _, run, _ in reasons],
            "tasks": [task for _, _, task in reasons],
            "reasons": list(reasons.values()),
        },
    )


def weigh_anew(
    connection: Connection, due: Sequence[tuple[int, str]], graphs: Mapping[int, Graph], *, month: date
) -> None:
    """Give instances of (run, task) that are to be tried again the weight of their next try, where tries differ."""
    weights = {}
    for run, task_id in due:
        index = graphs[run].index.get(task_id)
        if index is not None and len(graphs[run].nodes[index].task.weights) > 1:
            weights[run, task_id] = json.dumps(graphs[run].nodes[index].task.weights)
    if weights:
        execute(
            connection,
            """
            UPDATE task_instance AS instance
            SET priority_weight = (weighed.weights ->> least(
                instance.try_number, jsonb_array_length(weighed.weights) - 1))::int
            FROM unnest(%(runs)s::bigint[], %(tasks)s::text[], %(weights)s::jsonb[])
                 AS weighed (dag_run_id, task_id, weights)
            WHERE instance.month = %(month)s AND instance.dag_run_id = weighed.dag_run_id
              AND instance.task_id = weighed.task_id AND instance.state = 'scheduled'
            """,
            {
                "runs": [run for run, _ in weights],
                "tasks": [task_id for _, task_id in weights],
                "weights": list(weights.values()),
                "month": month,
            },
        )


def places_of(connection: Connection, attempt_ids: Sequence[UUID]) -> dict[UUID, tuple[int, date, str]]:
    """Return the instance, partition month and state of each of these attempts that is still active."""
    found = tuples(
        connection,
        """
        SELECT attempt_id, id, month, state FROM task_instance
        WHERE state IN ('queued', 'running', 'restarting') AND attempt_id = ANY(%(ids)s)
        """,
        {"ids": list(attempt_ids)},
    )
    return {row[0]: (row[1], row[2], row[3]) for row in found}
