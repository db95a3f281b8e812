"""All DAGs on one line of time: the runs that overlap a window, and what their tasks took of each pool meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.statements import rows, tuples

MOST_RUNS: Final = 2_000

# What ended within or after the window, by the index of ended runs, and what has not ended, by the one of those.
_RUNS: Final[LiteralString] = """
    SELECT * FROM (
        SELECT id, month, dag_id, run_id, state, run_type, run_after, queued_at, started_at, ended_at FROM dag_run
        WHERE ended_at >= %(since)s AND queued_at < %(until)s
        UNION ALL
        SELECT id, month, dag_id, run_id, state, run_type, run_after, queued_at, started_at, ended_at FROM dag_run
        WHERE state IN ('queued', 'running') AND queued_at < %(until)s
    ) AS run
    ORDER BY queued_at DESC, id DESC LIMIT %(most)s
"""

# Run by run, by the index of its partition: never a whole partition, however the planner counts.
_LOAD: Final[LiteralString] = """
    SELECT instance.pool, instance.pool_slots,
           greatest(instance.started_at, %(since)s) AS began, least(instance.ended_at, %(until)s) AS ended
    FROM unnest(%(ids)s::bigint[], %(months)s::date[]) AS run (id, month) CROSS JOIN LATERAL (
        SELECT pool, pool_slots, state, started_at, ended_at FROM task_instance
        WHERE dag_run_id = run.id AND month = run.month AND month = ANY(%(distinct_months)s) OFFSET 0
    ) AS instance
    WHERE instance.started_at < %(until)s
      AND (instance.ended_at > %(since)s OR (instance.ended_at IS NULL AND instance.state = 'running'))
"""


def runs_between(connection: Connection, *, since: datetime, until: datetime) -> tuple[list[Mapping[str, Any]], bool]:
    """Return the runs that were under way at some moment of the window, and whether there are more than that."""
    parameters = {"since": since, "until": until, "most": MOST_RUNS + 1}
    found = list(rows(connection, _RUNS, parameters))
    return found[:MOST_RUNS], len(found) > MOST_RUNS


def pool_load(
    connection: Connection,
    runs: Sequence[tuple[int, date]],
    *,
    since: datetime,
    until: datetime,
    now: datetime,
    parts: int,
) -> dict[str, list[float]]:
    """Return the mean slots that tasks of these runs (id, month) held, by pool, in equal ``parts`` of the window."""
    parameters = {
        "ids": [run for run, _ in runs],
        "months": [month for _, month in runs],
        "distinct_months": sorted({month for _, month in runs}),
        "since": since,
        "until": until,
    }
    width = (until - since).total_seconds() / parts
    load: dict[str, list[float]] = {}
    for pool, slots, began, ended in tuples(connection, _LOAD, parameters):
        first = (began - since).total_seconds() / width
        last = ((ended or min(now, until)) - since).total_seconds() / width
        of_pool = load.setdefault(pool, [0.0] * parts)
        for part in range(int(first), min(parts, int(last) + 1)):
            share = min(last, part + 1) - max(first, part)
            of_pool[part] += slots * max(0.0, share)
    return load


def slots_of(connection: Connection, pools: Sequence[str]) -> dict[str, int | None]:
    """Return how many slots these pools have; None: any number."""
    sql = "SELECT name, slots FROM slot_pool WHERE name = ANY(%(names)s)"
    found = tuples(connection, sql, {"names": list(pools)})
    return {name: None if slots == -1 else slots for name, slots in found}
