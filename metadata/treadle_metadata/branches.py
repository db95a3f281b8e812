"""Which tasks of runs were left out by a branch or a short circuit: what their attempts named, as long as it stands.

The names stand in the XCom ``treadle.document.SKIPPED_TASKS`` of the branch, so that a task that is cleared alone is
skipped again, and clearing the branch forgets them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Final

from sqlalchemy import Connection

from treadle.document import SKIPPED_TASKS
from treadle_metadata.deciding.snapshot import Snapshot
from treadle_metadata.statements import tuples

Named = tuple[str, int, list[str]]
"""A branch, its map index, and the tasks that it left out."""

_NAMED: Final = """
    SELECT instance.dag_run_id, instance.task_id, instance.map_index, xcom.value
    FROM task_instance AS instance
    JOIN xcom ON xcom.task_instance_id = instance.id AND xcom.month = instance.month AND xcom.key = %(key)s
    WHERE instance.month = %(month)s AND xcom.month = %(month)s AND instance.state = 'success'
"""


def named_by(connection: Connection, ids: Sequence[int], *, month: date) -> dict[int, list[Named]]:
    """Return, by run, what these instances named, of those that have succeeded."""
    if not ids:
        return {}
    parameters = {"ids": list(ids), "key": SKIPPED_TASKS, "month": month}
    return _by_run(tuples(connection, f"{_NAMED} AND instance.id = ANY(%(ids)s)", parameters))


def named_in(connection: Connection, snapshots: Mapping[int, Snapshot], *, month: date) -> dict[int, list[Named]]:
    """Return what all branches of these runs of one month named."""
    concerned = {run: one.graph for run, one in snapshots.items() if one.graph.skippers}
    if not concerned:
        return {}
    skippers = {graph.nodes[one].task.task_id for graph in concerned.values() for one in graph.skippers}
    parameters = {"ids": sorted(concerned), "task_ids": sorted(skippers), "key": SKIPPED_TASKS, "month": month}
    of_runs = "instance.dag_run_id = ANY(%(ids)s) AND instance.task_id = ANY(%(task_ids)s)"
    return _by_run(tuples(connection, f"{_NAMED} AND {of_runs}", parameters))


def _by_run(found: Iterable[Any]) -> dict[int, list[Named]]:
    named: dict[int, list[Named]] = {}
    for run, task_id, map_index, value in found:
        named.setdefault(run, []).append((task_id, map_index, json.loads(value)))
    return named
