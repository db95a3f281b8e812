"""The rows of new task instances, from the graph of their run's version.

The scheduler makes them when it starts a run or expands a mapped task; a clear makes them when it moves a run to a
version that has further tasks. Pure.
"""

from __future__ import annotations

from typing import Any, Final

from treadle_metadata.deciding.graph import Graph
from treadle_metadata.transitions.instances import MOST_RETRIES

MOST_SLOTS: Final = 2**31 - 1
"""What the column holds; no pool is larger, so a task that asks for more can never run either way."""


def instance_rows(graph: Graph, dag_run_id: int) -> list[dict[str, Any]]:
    """Return the undecided task instances of a run; a mapped task gets one placeholder, index -1."""
    return [instance_row(graph, node_index, dag_run_id) for node_index in range(len(graph.nodes))]


def instance_row(
    graph: Graph, node_index: int, dag_run_id: int, map_index: int = -1, state: str = "none"
) -> dict[str, Any]:
    """Return the row of one new task instance."""
    return {
        "dag_run_id": dag_run_id,
        "dag_id": graph.dag_id,
        "map_index": map_index,
        "state": state,
        **task_columns(graph, node_index),
    }


def task_columns(graph: Graph, node_index: int) -> dict[str, Any]:
    """Return what an instance holds of its task: what admission and retries need without a document."""
    node = graph.nodes[node_index]
    task = node.task
    return {
        "task_id": task.task_id,
        "max_tries": min(task.retries, MOST_RETRIES),
        "operator": task.operator,
        "pool": task.pool,
        "pool_slots": min(task.pool_slots, MOST_SLOTS),
        "queue": task.queue,
        "executor": task.executor,
        "priority_weight": node.weight,
    }
