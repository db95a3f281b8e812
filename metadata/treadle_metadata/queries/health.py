"""Whether the daemons live, told from their leases in ``process``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.statements import tuples

# A daemon that died long ago says nothing about now; without this the table's whole history would be read.
_HEALTH: Final[LiteralString] = """
    SELECT wanted.kind, newest.heartbeat_at,
           EXISTS (SELECT 1 FROM process
                   WHERE process.kind = wanted.kind AND process.stopped_at IS NULL
                     AND process.lease_until > %(now)s
                     AND process.heartbeat_at >= newest.heartbeat_at - interval '1 hour')
    FROM unnest(%(kinds)s::text[]) AS wanted (kind)
    CROSS JOIN LATERAL (SELECT heartbeat_at FROM process WHERE process.kind = wanted.kind
                        ORDER BY heartbeat_at DESC LIMIT 1) AS newest
"""


_FAILING: Final = "SELECT count(*) FROM trigger WHERE trouble IS NOT NULL AND cancelled_at IS NULL"


@dataclass(frozen=True, slots=True)
class DaemonHealth:
    """The newest heartbeat of a kind of daemon, and whether any of that kind holds its lease."""

    kind: str
    heartbeat_at: datetime
    is_alive: bool


def daemon_health(connection: Connection, kinds: list[str], *, now: datetime) -> dict[str, DaemonHealth]:
    """Return the health of each kind of daemon that was ever started."""
    found = tuples(connection, _HEALTH, {"kinds": kinds, "now": now})
    return {kind: DaemonHealth(kind, heartbeat, alive) for kind, heartbeat, alive in found}


def failing_watchers(connection: Connection) -> int:
    """Return how many watchers of assets fail, and are begun anew again and again."""
    return int(tuples(connection, _FAILING)[0][0])


def schedule_lag(connection: Connection, *, now: datetime) -> timedelta:
    """Return how late the scheduler is: the age of the oldest run that is due and not made (case A75)."""
    found = tuples(
        connection,
        """
        SELECT next_run_at FROM dag
        WHERE NOT is_paused AND is_active AND NOT at_run_limit AND next_run_at <= %(now)s
        ORDER BY next_run_at LIMIT 1
        """,
        {"now": now},
    )
    return now - found[0][0] if found else timedelta(0)
