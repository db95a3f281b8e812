"""What deferred tasks wait for, and which triggerers look: read for pages and for "why is it not running?"."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from treadle_metadata.deciding.why_triggers import WaitFacts
from treadle_metadata.statements import rows

_WAIT: Final = """
    SELECT trigger.classpath, trigger.created_at, deferral.due_at, process.hostname, process.pid, triggerer.trouble,
           EXISTS (SELECT FROM process AS other
                   WHERE other.kind = 'triggerer' AND other.stopped_at IS NULL AND other.lease_until > %(now)s) AS lives
    FROM deferral JOIN trigger ON trigger.id = deferral.trigger_id
         LEFT JOIN process ON process.id = trigger.owner AND process.stopped_at IS NULL
                          AND process.lease_until > %(now)s
         LEFT JOIN triggerer ON triggerer.process_id = process.id
    WHERE deferral.task_instance_id = %(id)s
"""


def wait_of(connection: Connection, instance_id: int, *, now: datetime) -> WaitFacts | None:
    """Return what a deferred instance waits for; None if its event has just come."""
    found = rows(connection, _WAIT, {"id": instance_id, "now": now})
    if not found:
        return None
    row = found[0]
    return WaitFacts(
        classpath=row["classpath"],
        since=row["created_at"],
        due_at=row["due_at"],
        place=None if row["hostname"] is None else f"{row['hostname']} (pid {row['pid']})",
        trouble=row["trouble"],
        is_anybody_there=row["lives"],
    )
