"""Which tasks of runs were left out by a branch or a short circuit: what their attempts named, as long as it stands.

The names stand in the XCom ``treadle.document.SKIPPED_TASKS`` of the branch, so that a task that is cleared alone is
skipped again, and clearing the branch forgets them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from sqlalchemy import Connection

from treadle.document import SKIPPED_TASKS
from treadle_metadata.deciding.graph import Graph
from treadle_metadata.statements import tuples


def told_to_skip(
    connection: Connection, runs: Sequence[Mapping[str, Any]], graphs: Mapping[int, Graph], *, month: date
) -> dict[int, frozenset[int]]:
    """Return, for each of these runs of one month that has any, the tasks (by graph index) that were left out."""
    concerned = {run["id"]: graphs[run["version_id"]] for run in runs if graphs[run["version_id"]].skippers}
    if not concerned:
        return {}
    skippers = {graph.nodes[one].task.task_id for graph in concerned.values() for one in graph.skippers}
    found = tuples(
        connection,
        """
        SELECT instance.dag_run_id, xcom.value
        FROM task_instance AS instance
        JOIN xcom ON xcom.task_instance_id = instance.id AND xcom.month = instance.month AND xcom.key = %(key)s
        WHERE instance.month = %(month)s AND xcom.month = %(month)s AND instance.dag_run_id = ANY(%(ids)s)
          AND instance.task_id = ANY(%(task_ids)s) AND instance.state = 'success'
        """,
        {"ids": sorted(concerned), "task_ids": sorted(skippers), "key": SKIPPED_TASKS, "month": month},
    )
    named: dict[int, set[int]] = {}
    for run, value in found:
        index = concerned[run].index
        named.setdefault(run, set()).update(index[name] for name in json.loads(value) if name in index)
    return {run: frozenset(indexes) for run, indexes in named.items()}
