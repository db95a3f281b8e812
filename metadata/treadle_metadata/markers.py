"""What a clear passes on to other DAGs: each cleared external task marker names a task there that waits for it.

Asked by ``clearing`` for the instances that it clears; reads only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.deciding.graph import Graph
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.selecting import Row, Selection
from treadle_metadata.statements import rows

_RUNS: Final = """
    SELECT run.run_id, run.version_id FROM dag_run AS run JOIN dag ON dag.dag_id = run.dag_id AND dag.is_active
    WHERE run.dag_id = %(dag_id)s AND run.logical_date = ANY(%(dates)s)
"""

_HAS_TASK: Final = """
    SELECT EXISTS (SELECT FROM jsonb_array_elements(version.document -> 'tasks') AS task
                   WHERE task ->> 'task_id' = %(task_id)s) AS it_has
    FROM dag JOIN dag_version AS version ON version.id = dag.version_id WHERE dag.dag_id = %(dag_id)s
"""


def selections_beyond(
    connection: Connection, cleared: Sequence[Row], graphs: Mapping[int, Graph], hops: int | None
) -> list[tuple[Selection, int]]:
    """Return what is to be cleared in other DAGs, with the markers that this may still pass; ``hops``: of this clear.

    A marker whose DAG, task or run is not there passes nothing on.

    Raises:
        InvalidRequestError: the clear has passed as many markers as the first of them allows: they form a circle.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one in cleared:
        marker = _marker(graphs[one["dag_run_id"]], one["task_id"])
        if marker is None or one["logical_date"] is None:
            continue
        left = marker.depth if hops is None else min(hops, marker.depth)
        if left <= 0:
            raise InvalidRequestError(
                f"the clear goes on from marker to marker and does not end: it came to {one['dag_id']}."
                f"{one['task_id']} after as many as recursion_depth allows; they may form a circle"
            )
        into = found.setdefault((marker.dag_id, marker.task_id), {"dates": [], "left": left - 1})
        into["dates"].append(one["logical_date"] + timedelta(seconds=marker.delta_seconds))
    return [
        (Selection(dag_id=dag_id, run_ids=runs, task_ids=(task_id,), include_downstream=True), into["left"])
        for (dag_id, task_id), into in sorted(found.items())
        if (runs := _runs_with(connection, dag_id, task_id, into["dates"]))
    ]


def _marker(graph: Graph, task_id: str) -> Any:
    index = graph.index.get(task_id)
    return None if index is None else graph.nodes[index].task.marks


def _runs_with(connection: Connection, dag_id: str, task_id: str, dates: Sequence[datetime]) -> tuple[str, ...]:
    found = rows(connection, _RUNS, {"dag_id": dag_id, "dates": list(dates)})
    has_task = found and rows(connection, _HAS_TASK, {"dag_id": dag_id, "task_id": task_id})[0]["it_has"]
    return tuple(row["run_id"] for row in found) if has_task else ()
