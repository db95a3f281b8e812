"""Pausing and unpausing DAGs. A paused DAG makes no automated runs and starts none; running ones go on.

The next run is not planned here: the scheduler's create_runs duty plans it when the DAG is due, from what is true then.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from treadle_metadata.connection import WAKE, notify
from treadle_metadata.statements import tuples


def set_paused(connection: Connection, dag_ids: Sequence[str], paused: bool, *, now: datetime) -> list[str]:
    """Pause or unpause DAGs; return the ids of those that changed, sorted.

    When a DAG was unpaused is kept: ``catchup="none"`` does not go behind it. A schedule of which nobody knows the next
    run is looked at again.

    An id that names no DAG changes nothing: the caller, who must answer that, has looked for it before.
    """
    changed = tuples(
        connection,
        """
        UPDATE dag
        SET is_paused = %(paused)s,
            resumed_at = CASE WHEN %(paused)s THEN resumed_at ELSE %(now)s END,
            next_run_at = CASE WHEN %(paused)s OR schedule_summary IS NULL THEN next_run_at
                               ELSE coalesce(next_run_at, %(now)s) END
        WHERE dag_id = ANY(%(dag_ids)s) AND is_paused <> %(paused)s
        RETURNING dag_id
        """,
        {"dag_ids": list(dag_ids), "paused": paused, "now": now},
    )
    if changed and not paused:
        notify(connection, WAKE)
    return sorted(row[0] for row in changed)
