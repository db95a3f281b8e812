"""How full pools are, from the instances that are not finished, of the months that have any: their partitions only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.queries.pools import taken
from treadle_metadata.rights.scoped_views import everywhere
from treadle_metadata.statements import rows, tuples

_POOLS: Final = "SELECT name, slots, include_deferred FROM slot_pool ORDER BY name LIMIT %(limit)s"

# Months as values, not as a join: a plan over all partitions would cost more than what it reads.
_USE: Final[LiteralString] = """
    SELECT pool, state, count(*), sum(pool_slots) FROM task_instance
    WHERE month = ANY(%(months)s) AND state IN ('queued', 'running', 'restarting', 'deferred') GROUP BY pool, state
    UNION ALL
    SELECT pool, state, count(*), sum(pool_slots) FROM task_instance
    WHERE month = ANY(%(months)s) AND state = 'scheduled' GROUP BY pool, state
"""


def unfinished_months(connection: Connection) -> list[date]:
    """Return the months of the runs that are queued or running."""
    sql = "SELECT DISTINCT month FROM dag_run WHERE state IN ('queued', 'running')"
    return [row[0] for row in tuples(connection, sql)]


def pool_use(connection: Connection, *, limit: int) -> list[dict[str, Any]]:
    """Return pools by name, each with the slots that are taken: what ``queries.pools.taken`` says.

    A pool is as full as it is, whatever of its users the one who asks may see.
    """
    pools = [dict(row) for row in rows(connection, _POOLS, {"limit": limit})]
    with everywhere(connection):
        found = _use(connection)
    slots = {(pool, state): int(held) for pool, state, _, held in found}
    return [pool | taken(pool, slots) for pool in pools]


def tasks_under_way(connection: Connection) -> dict[str, int]:
    """Return how many instances wait for a slot or hold one, by state: of those DAGs that the one who asks may see."""
    counts: dict[str, int] = {}
    for _, state, number, _ in _use(connection):
        counts[state] = counts.get(state, 0) + number
    return counts


def _use(connection: Connection) -> Sequence[Any]:
    months = unfinished_months(connection)
    return tuples(connection, _USE, {"months": months}) if months else []
