"""The Gantt chart of a run: every attempt's queue and run time, and the chain of tasks that made it as long as it was.

The critical path is worked out from the times as they are: from what ended last back to the upstream task that ended
last before it began, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.statements import rows

MOST_ATTEMPTS: Final = 5_000

_ATTEMPTS: Final[LiteralString] = """
    SELECT instance.task_id, instance.map_index, instance.state, instance.scheduled_at,
           instance.ended_at AS instance_ended_at, instance.pool, attempt.try_number, attempt.outcome,
           attempt.queued_at, attempt.started_at, attempt.ended_at, attempt.executor, attempt.hostname,
           attempt.attempt_id IS NOT DISTINCT FROM instance.attempt_id AS is_newest
    FROM task_instance AS instance
    LEFT JOIN task_attempt AS attempt ON attempt.task_instance_id = instance.id AND attempt.month = %(month)s
    WHERE instance.dag_run_id = %(run)s AND instance.month = %(month)s
    ORDER BY instance.task_id, instance.map_index, attempt.queued_at
    LIMIT %(most)s
"""


def attempts(connection: Connection, run: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], bool]:
    """Return the attempts of ``run`` by task and index, and whether there are more than are returned.

    An instance without attempts is one row whose attempt is NULL.
    """
    parameters = {"run": run["id"], "month": run["month"], "most": MOST_ATTEMPTS + 1}
    found = list(rows(connection, _ATTEMPTS, parameters))
    return found[:MOST_ATTEMPTS], len(found) > MOST_ATTEMPTS


def critical_path(found: Sequence[Mapping[str, Any]], upstream: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the tasks, first to last, whose ends the run's end had to wait for; ``upstream`` in topological order.

    What ended without having run (skipped, upstream failed) is passed through: it is not of the path, but what it
    waited for is.
    """
    ends: dict[str, datetime] = {}
    for row in found:
        end = row["ended_at"] or row["instance_ended_at"]
        if end is not None and (row["task_id"] not in ends or end > ends[row["task_id"]]):
            ends[row["task_id"]] = end
    # Of two that ended at once the one further down, which may have waited for the other.
    order = {task_id: position for position, task_id in enumerate(upstream)}
    path: list[str] = []
    found_ends: Iterable[str] = ends
    while (last := max(found_ends, key=lambda one: (ends[one], order.get(one, -1)), default=None)) is not None:
        path.append(last)
        found_ends = [one for one in upstream.get(last, ()) if one in ends and one not in path]
    ran = {row["task_id"] for row in found if row["started_at"] is not None}
    return [one for one in reversed(path) if one in ran]
