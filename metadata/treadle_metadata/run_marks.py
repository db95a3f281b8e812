"""What setting the state of a run by hand would change. Reads only; the page, the command and the API show it first.

``marking.mark_run`` does it, refuses what is refused here (:func:`check_mark`), and ends what is listed here: a test
compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.deciding.graph import GraphCache
from treadle_metadata.endings import must_tear_down
from treadle_metadata.errors import ConflictError, InvalidRequestError, shown
from treadle_metadata.planning import state_counts
from treadle_metadata.runs import find_run
from treadle_metadata.selecting import Row, instances_of
from treadle_metadata.states import FINISHED, RunState, TaskState
from treadle_metadata.transitions import instances

_OF_RUNS: Final = ("success", "failed", "queued")


def check_mark(run: Row, state: str) -> None:
    """Check that a run can be set to ``state``.

    Raises:
        InvalidRequestError: ``state`` is not one of the three.
        ConflictError: the run is in that state already, or on its way to it.
    """
    if state not in _OF_RUNS:
        raise InvalidRequestError(f"a run can be set to success, failed or queued, not to {shown(state)}")
    which = f"run {shown(run['run_id'])} of DAG {shown(run['dag_id'])}"
    if run["state"] == state:
        raise ConflictError(f"{which} is {state} already")
    if run["ending"] == state:
        raise ConflictError(f"{which} ends as {state} already, once its teardowns have run")


@dataclass(frozen=True, slots=True)
class RunMark:
    """What marking a run changes."""

    run: Row
    state: RunState
    """What the run is in right after it: ``running`` as long as teardowns are to run."""
    teardowns: tuple[str, ...]
    """The tasks that still run, in topological order; the scheduler decides which of them have something to do."""
    changes: tuple[dict[str, Any], ...]
    """The rows of the instances that are ended, with ``new_state``."""


def plan_run_mark(connection: Connection, dag_id: str, run_id: str, state: str) -> RunMark:
    """Return what ``marking.mark_run`` would change, without changing anything.

    Raises:
        NotFoundError: there is no such run.
        InvalidRequestError: ``state`` is not one of the three.
        ConflictError: the run is in that state already, or on its way to it.
    """
    run = find_run(connection, dag_id, run_id)
    check_mark(run, state)
    if state == RunState.QUEUED:
        return RunMark(run, RunState.QUEUED, (), ())
    graph = GraphCache().get(connection, [run["version_id"]])[run["version_id"]]
    counts = state_counts(connection, [run["id"]], month=run["month"]).get(run["id"], {})
    spared: tuple[str, ...] = ()
    if must_tear_down(graph, counts, RunState(state)):
        spared = tuple(node.task.task_id for node in graph.nodes if node.task.is_teardown)
    found = instances_of(connection, [run], {run["id"]: graph.index}, set(TaskState) - FINISHED)
    changes = tuple(
        one | {"new_state": state if one["state"] in instances.TAKES_STATE else TaskState.SKIPPED.value}
        for one in found
        if one["task_id"] not in spared
    )
    return RunMark(run, RunState.RUNNING if spared else RunState(state), spared, changes)
