"""Ends attempts of a worker that was killed as soon as somebody knows it, as their leases would later.

Called by the worker that starts where the other one died (``treadle_executors.left_attempts``), which has proven that
nothing of it runs. What started there is charged an attempt, what did not start is the same try again; what has ended
meanwhile, or runs elsewhere, stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, datetime
from itertools import groupby
from operator import itemgetter
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata import execution
from treadle_metadata.connection import RUNS, WAKE, notify
from treadle_metadata.statements import tuples
from treadle_metadata.states import TaskState

_HELD: Final = """
    SELECT attempt_id, id, state FROM task_instance
    WHERE id = ANY(%(ids)s) AND month = %(month)s AND attempt_id = ANY(%(attempt_ids)s)
      AND state IN ('queued', 'running', 'restarting')
    ORDER BY id FOR NO KEY UPDATE
"""


def lose_left(
    connection: Connection,
    left: Sequence[tuple[UUID, int, date]],
    reason: str,
    *,
    began: Collection[UUID],
    now: datetime,
) -> int:
    """End these attempts (id, task instance, month); return how many still were under way.

    ``began``: those that the dead worker was let begin. Any other that runs was delivered twice, and is not its own.
    """
    started: list[tuple[UUID, int, date]] = []
    queued: list[tuple[UUID, int, date]] = []
    for month, batch in groupby(sorted(left, key=itemgetter(2)), key=itemgetter(2)):
        listed = list(batch)
        wanted = {"attempt_ids": [one[0] for one in listed], "ids": [one[1] for one in listed], "month": month}
        for attempt_id, instance, state in tuples(connection, _HELD, wanted):
            if state == TaskState.QUEUED:
                queued.append((attempt_id, instance, month))
            elif attempt_id in began:
                started.append((attempt_id, instance, month))
    execution.lose(connection, started, reason, now=now)
    execution.take_back(connection, queued)
    if started or queued:
        notify(connection, WAKE, RUNS)
    return len(started) + len(queued)
