"""Which tasks of a run wait for the run before it: ``depends_on_past`` and ``wait_for_downstream``.

A past instance counts as done when it succeeded or was skipped (case A27). Where the run before does not know the
task, or there is none, nothing is held: the first run of a DAG or of a new task must be able to start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.planning import past_states
from treadle_scheduler.graph import Graph

_DONE: Final = frozenset({"success", "skipped", "removed"})


def held_by_past(
    connection: Connection, runs: Sequence[Mapping[str, Any]], graphs: Mapping[int, Graph]
) -> dict[int, frozenset[int]]:
    """Return, for each run that has any, the tasks that wait for the run before."""
    concerned = [run for run in runs if graphs[run["version_id"]].past_dependent]
    if not concerned:
        return {}
    names = sorted({name for run in concerned for name in _watched(graphs[run["version_id"]])})
    past = past_states(connection, [run["id"] for run in concerned], names)
    return {run["id"]: held(graphs[run["version_id"]], past.get(run["id"], {})) for run in concerned}


def held(graph: Graph, past: Mapping[str, set[str]]) -> frozenset[int]:
    """Return the tasks of ``graph`` that wait, given the states of tasks in the run before."""
    waiting = set()
    for index in graph.past_dependent:
        node = graph.nodes[index]
        watched = [node.task.task_id]
        if node.task.wait_for_downstream:
            watched += [graph.nodes[one].task.task_id for one in node.downstream]
        if any(past.get(name, set()) - _DONE for name in watched):
            waiting.add(index)
    return frozenset(waiting)


def _watched(graph: Graph) -> set[str]:
    indexes = set(graph.past_dependent)
    for one in graph.past_dependent:
        indexes |= set(graph.nodes[one].downstream)
    return {graph.nodes[one].task.task_id for one in indexes}
