"""Which tasks of a run wait for the run before it: ``depends_on_past`` and ``wait_for_downstream``.

A past instance counts as done when it succeeded or was skipped (case A27). Where the run before does not know the
task, or there is none, nothing is held: the first run of a DAG or of a new task must be able to start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.deciding.graph import Graph
from treadle_metadata.planning import past_states

_DONE: Final = frozenset({"success", "skipped", "removed"})


def held_by_past(
    connection: Connection, runs: Sequence[Mapping[str, Any]], graphs: Mapping[int, Graph]
) -> dict[int, frozenset[int]]:
    """Return, for each run that has any, the tasks that wait for the run before."""
    concerned = [run for run in runs if graphs[run["version_id"]].past_dependent]
    if not concerned:
        return {}
    names = sorted({name for run in concerned for name in watched_tasks(graphs[run["version_id"]])})
    past = past_states(connection, [run["id"] for run in concerned], names)
    return {run["id"]: held(graphs[run["version_id"]], past.get(run["id"], {})) for run in concerned}


def held(graph: Graph, past: Mapping[str, set[str]]) -> frozenset[int]:
    """Return the tasks of ``graph`` that wait, given the states of tasks in the run before."""
    return frozenset(index for index in graph.past_dependent if open_before(graph, index, past))


def open_before(graph: Graph, index: int, past: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the tasks of the run before that the task ``index`` waits for, with the states that are not done."""
    node = graph.nodes[index]
    watched = [node.task.task_id]
    if node.task.wait_for_downstream:
        watched += [graph.nodes[one].task.task_id for one in node.downstream]
    found = {name: past.get(name, set()) - _DONE for name in watched}
    return {name: states for name, states in found.items() if states}


def watched_tasks(graph: Graph) -> set[str]:
    """Return the tasks of the run before that any task of ``graph`` may wait for."""
    indexes = set(graph.past_dependent)
    for one in graph.past_dependent:
        indexes |= set(graph.nodes[one].downstream)
    return {graph.nodes[one].task.task_id for one in indexes}
