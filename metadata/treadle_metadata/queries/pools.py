"""Pools, with how much of each is in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.deciding.why_waits import stuck_pool
from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.conditions import Conditions
from treadle_metadata.queries.paging import Page, PageRequest, SortKey, fetch_page
from treadle_metadata.queries.waits import pools_of_sensors
from treadle_metadata.rights.scoped_views import everywhere
from treadle_metadata.statements import rows, tuples

_SORTS: Final = {
    "name": SortKey("slot_pool.name", "text"),
    "pool": SortKey("slot_pool.name", "text"),
    "slots": SortKey("slot_pool.slots", "int"),
}

# The states of the two partial indexes of unfinished instances, so that finished rows are never touched.
_USE: Final[LiteralString] = """
    SELECT pool, state, sum(pool_slots) FROM task_instance
    WHERE state IN ('queued', 'running', 'restarting', 'deferred') GROUP BY pool, state
    UNION ALL
    SELECT pool, state, sum(pool_slots) FROM task_instance WHERE state = 'scheduled' GROUP BY pool, state
"""


def list_pools(
    connection: Connection, page: PageRequest, *, pattern: str | None = None, prefix: str | None = None
) -> Page:
    """Return a page of pools by name, each with ``running``, ``queued``, ``scheduled``, ``deferred``, ``occupied`` and
    ``open`` slots (``open`` is None where the pool has no limit)."""
    conditions = Conditions()
    conditions.pattern("slot_pool.name", "pattern", pattern)
    conditions.prefix("slot_pool.name", "prefix", prefix)
    found = fetch_page(
        connection,
        select="slot_pool.*",
        source="slot_pool",
        conditions=conditions,
        sorts=_SORTS,
        default=("name",),
        unique=("name",),
        request=page,
    )
    _add_use(connection, found.rows)
    return found


def get_pool(connection: Connection, name: str) -> dict[str, Any]:
    """Return one pool with its use.

    Raises:
        NotFoundError: there is no such pool.
    """
    found = [dict(row) for row in rows(connection, "SELECT * FROM slot_pool WHERE name = %(name)s", {"name": name})]
    if not found:
        known = [row[0] for row in tuples(connection, "SELECT name FROM slot_pool")]
        raise NotFoundError("pool", name, known)
    _add_use(connection, found)
    return found[0]


def _add_use(connection: Connection, pools: Sequence[dict[str, Any]]) -> None:
    sensors = pools_of_sensors(connection)
    # A pool is as full as it is, whatever of its users the one who asks may see.
    with everywhere(connection):
        found = tuples(connection, _USE)
    use: dict[tuple[str, str], int] = {(pool, state): int(slots) for pool, state, slots in found}
    for pool in pools:
        pool.update(taken(pool, use))
        waiting = sensors.get(pool["name"])
        pool["sensors"] = 0 if waiting is None else waiting.slots
        limit = None if pool["slots"] == -1 else pool["slots"]
        pool["warning"] = stuck_pool(pool["name"], limit, pool["occupied"], waiting)


def taken(pool: Mapping[str, Any], slots: Mapping[tuple[str, str], int]) -> dict[str, int | None]:
    """Return what is taken of a pool (a row of ``slot_pool``), of the slots by pool name and state of its instances.

    ``running``, ``queued``, ``scheduled`` and ``deferred`` slots, what is ``occupied``, and what is ``open`` (None
    without a limit).
    """
    name, limit = pool["name"], pool["slots"]
    by_state = {state: slots.get((name, state), 0) for state in ("queued", "scheduled", "deferred")}
    by_state["running"] = slots.get((name, "running"), 0) + slots.get((name, "restarting"), 0)
    occupied = by_state["running"] + by_state["queued"] + (by_state["deferred"] if pool["include_deferred"] else 0)
    return {**by_state, "occupied": occupied, "open": None if limit == -1 else limit - occupied}
