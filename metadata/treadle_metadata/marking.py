"""Setting the state of runs and task instances by hand.

``plan_marks`` says what marking would change and ``mark_selected`` does just that, from the same function (case H11).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata import clearing
from treadle_metadata.connection import RUNS, WAKE, notify
from treadle_metadata.deciding.graph import GraphCache
from treadle_metadata.endings import end_runs, tell_workers
from treadle_metadata.errors import InvalidRequestError, shown
from treadle_metadata.run_locks import hold_runs
from treadle_metadata.run_marks import check_mark
from treadle_metadata.runs import find_run, lock_run
from treadle_metadata.selecting import (
    Row,
    Selection,
    as_changes,
    instances_of,
    is_meant,
    selected_runs,
    tasks_by_version,
    within_groups,
)
from treadle_metadata.states import RunState, TaskState, may_follow
from treadle_metadata.transitions import instances, runs

_OF_INSTANCES: Final = ("success", "failed", "skipped")


def mark_run(connection: Connection, dag_id: str, run_id: str, state: str, *, now: datetime) -> Mapping[str, Any]:
    """Set a run to ``success``, ``failed`` or ``queued``; return its new row.

    A finished state ends the run at once: running instances take that state and their processes are ended, instances
    that have not started are skipped. Only teardowns whose setups succeeded still run; the run is ``running`` until
    they have, and then ends in ``state`` (case A40). ``queued`` lets the scheduler go on with a finished run.

    Raises:
        NotFoundError: there is no such run.
        InvalidRequestError: ``state`` is not one of the three.
        ConflictError: the run is in that state already, or on its way to it.
    """
    run = lock_run(connection, dag_id, run_id)
    check_mark(run, state)
    if state == "queued":
        runs.requeue(connection, [run["id"]], now=now)
    else:
        end_runs(connection, [run["id"]], RunState(state), month=run["month"], now=now)
    notify(connection, WAKE, RUNS)
    return find_run(connection, dag_id, run_id)


@dataclass(frozen=True, slots=True)
class Marks:
    """What marking changes. Rows are those of ``task_instance`` before it, with ``run_id`` and ``logical_date``."""

    state: TaskState
    runs: tuple[Row, ...]
    marked: tuple[Row, ...]
    resumed: tuple[Row, ...]
    """Instances below that had failed for want of these, and are cleared: they can run now."""

    @property
    def changes(self) -> list[dict[str, Any]]:
        """Every instance that changes, run by run: ``action`` is the state it is set to, or clear."""
        return as_changes(((self.state.value, self.marked), ("clear", self.resumed)))


def plan_marks(connection: Connection, selection: Selection, state: str) -> Marks:
    """Return what :func:`mark_selected` would change, without changing anything."""
    return _plan(connection, selection, _checked(state), selected_runs(connection, selection))


def mark_selected(connection: Connection, selection: Selection, state: str, *, now: datetime) -> Marks:
    """Set the selected instances to ``success``, ``failed`` or ``skipped``; return what was changed.

    Attempts under way are ended and cannot report any more. What failed below an instance that is now a success, only
    because of it, is cleared, and its run goes on. Otherwise a finished run is not reopened.

    Raises:
        InvalidRequestError: ``state`` is not one of the three, or a task of the selection is not in the DAG.
    """

    def runs_of(marks: Marks) -> set[int]:
        # Runs of other DAGs, too, to which markers below pass a clear on.
        beyond = [clearing.plan(connection, one, latest=False).run_ids for one in _below(selection, marks.resumed)]
        return {run["id"] for run in marks.runs}.union(*beyond)

    planned = plan_marks(connection, selection, state)
    wanted = hold_runs(connection, planned, lambda: plan_marks(connection, selection, state), runs_of)
    for month, batch in groupby(sorted(wanted.marked, key=itemgetter("month")), key=itemgetter("month")):
        why, ids = f"its task was marked {wanted.state}", [one["id"] for one in batch]
        moved = instances.mark(connection, ids, wanted.state, month=month, now=now, why=why)
        tell_workers(connection, moved, why)
    for below in _below(selection, wanted.resumed):
        clearing.clear(connection, below, latest=False, now=now)
    marked_in = [run["id"] for run in wanted.runs]
    runs.wake(connection, [(run, now) for run in marked_in])
    runs.wake_following(connection, marked_in, now=now)
    notify(connection, WAKE, RUNS)
    return wanted


def _checked(state: str) -> TaskState:
    if state not in _OF_INSTANCES:
        raise InvalidRequestError(f"a task instance can be set to success, failed or skipped, not to {shown(state)}")
    return TaskState(state)


def _plan(connection: Connection, selection: Selection, state: TaskState, chosen: Sequence[Row]) -> Marks:
    graphs = GraphCache().get(connection, {run["version_id"] for run in chosen})
    tasks = tasks_by_version(replace(selection, with_scopes=False), graphs)
    found = instances_of(connection, chosen, {run["id"]: tasks[run["version_id"]] for run in chosen}, may_follow(state))
    selection = within_groups(selection, graphs.values())
    marked = tuple(one for one in found if is_meant(selection, one) and one["state"] != state)
    resumed = _resumed(connection, selection.dag_id, marked) if state is not TaskState.FAILED else ()
    touched = {one["dag_run_id"] for one in marked}
    return Marks(state, tuple(run for run in chosen if run["id"] in touched), marked, resumed)


def _resumed(connection: Connection, dag_id: str, marked: Sequence[Row]) -> tuple[Row, ...]:
    """Return what is below the marked instances and had failed without running."""
    found: list[Row] = []
    for above, run_ids in _alike(marked):
        below = Selection(
            dag_id=dag_id,
            run_ids=run_ids,
            task_ids=above,
            include_downstream=True,
            only_failed=True,
            with_scopes=False,
        )
        cleared = clearing.plan(connection, below, latest=False).cleared
        found += [one for one in cleared if one["state"] == TaskState.UPSTREAM_FAILED and one["task_id"] not in above]
    return tuple(found)


def _below(selection: Selection, resumed: Sequence[Row]) -> list[Selection]:
    """Return what is cleared below the marked instances."""
    return [
        Selection(dag_id=selection.dag_id, run_ids=run_ids, task_ids=tasks, only_failed=True, with_scopes=False)
        for tasks, run_ids in _alike(resumed)
    ]


def _alike(instances: Iterable[Row]) -> Iterable[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return (task ids, run ids): the runs that these are instances of, those with the same tasks together."""
    tasks: dict[str, set[str]] = {}
    for one in instances:
        tasks.setdefault(one["run_id"], set()).add(one["task_id"])
    runs_with: dict[tuple[str, ...], list[str]] = {}
    for run_id, names in tasks.items():
        runs_with.setdefault(tuple(sorted(names)), []).append(run_id)
    return [(names, tuple(run_ids)) for names, run_ids in runs_with.items()]
