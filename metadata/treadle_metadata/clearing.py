"""Clearing task instances, so that they run again, on the version that their run has or on the DAG's newest one.

``plan`` says what a clear would do and ``clear`` does just that, from the same function, so a preview and its effect
are one (case H11). With ``latest`` the runs move to the newest version: its new tasks get instances, tasks that it has
no more are removed (case A53). Nothing outside the selection is touched (case A15).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.connection import RUNS, WAKE, notify
from treadle_metadata.deciding.graph import Graph, GraphCache
from treadle_metadata.endings import tell_workers
from treadle_metadata.fresh_instances import instance_row, task_columns
from treadle_metadata.instance_locks import lock_instances
from treadle_metadata.markers import selections_beyond
from treadle_metadata.run_locks import hold_runs
from treadle_metadata.runs import newest_version
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
from treadle_metadata.states import FINISHED_RUNS
from treadle_metadata.transitions import instances, of_versions, runs
from treadle_metadata.version_moves import Moves, moves_to

__all__ = ["Plan", "Selection", "clear", "plan"]

_CLEARABLE: Final = ("scheduled", "queued", "running", "success", "failed", "skipped", "upstream_failed",
                     "up_for_retry", "up_for_reschedule", "deferred", "removed")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """What a clear changes. All rows are those of ``task_instance`` before it, with ``run_id`` and ``logical_date``."""

    runs: tuple[Row, ...]
    """The runs that go on, or start again."""
    cleared: tuple[Row, ...]
    moves: Moves
    """What changes because runs move to the DAG's newest version."""
    beyond: tuple[Plan, ...] = ()
    """What changes in other DAGs, to which external task markers pass the clear on."""

    def __bool__(self) -> bool:
        """Tell whether anything changes."""
        return bool(self.runs)

    @property
    def on_older_versions(self) -> int:
        """Return how many of the runs stay on a version that is not their DAG's newest one."""
        older = [run for run in self.runs if run["version_id"] != self.moves.version_id]
        return len(older) - len(self.moves.runs)

    @property
    def changes(self) -> list[dict[str, Any]]:
        """Every instance that changes, run by run: ``action`` is clear, add (a new task) or remove (a former one)."""
        own = as_changes((("clear", self.cleared), ("add", self.moves.added), ("remove", self.moves.removed)))
        mine = [{"dag_id": self.runs[0]["dag_id"], **one} for one in own]
        return mine + [change for plan in self.beyond for change in plan.changes]

    @property
    def runs_in_all(self) -> int:
        """How many runs go on, in other DAGs too."""
        return len(self.runs) + sum(plan.runs_in_all for plan in self.beyond)

    @property
    def instances(self) -> tuple[Row, ...]:
        """The instances that are there and change, in other DAGs too."""
        return self.cleared + tuple(self.moves.removed) + tuple(one for plan in self.beyond for one in plan.instances)

    @property
    def run_ids(self) -> frozenset[int]:
        """The ids of the runs that go on, in other DAGs too."""
        return frozenset(run["id"] for run in self.runs).union(*(plan.run_ids for plan in self.beyond))

    @property
    def all_cleared(self) -> tuple[Row, ...]:
        """The instances that are cleared, in other DAGs too."""
        return self.cleared + tuple(one for plan in self.beyond for one in plan.all_cleared)


def plan(
    connection: Connection,
    selection: Selection,
    *,
    latest: bool | None = None,
    default: bool = False,
    hops: int | None = None,
) -> Plan:
    """Return what clearing ``selection`` would change, without changing anything; see :func:`clear`."""
    return _tree(connection, selection, latest, default, hops).plan


def clear(
    connection: Connection,
    selection: Selection,
    *,
    latest: bool | None = None,
    default: bool = False,
    dry_run: bool = False,
    hops: int | None = None,
    also_held: Collection[int] = (),
    now: datetime,
) -> Plan:
    """Clear the selected instances and reopen their runs; return what was changed (``dry_run``: what would be).

    A running instance is ended and starts over. Each cleared instance gets the retries of its task again. ``latest``
    moves the runs to their DAG's newest version; None leaves it to the DAG's ``rerun_with_latest_version``, and where
    that says nothing, to ``default`` (the setting of the same name). External task markers among the cleared pass the
    clear on to other DAGs; ``hops``: over so many more markers. ``also_held``: runs that the caller changes
    afterwards, to be locked with those that are cleared.

    Raises:
        NotFoundError: there is no such DAG.
        ConflictError: the DAG is gone from its file.
        InvalidRequestError: the regular expression or a task id of the selection is of no use.
    """
    wanted = _tree(connection, selection, latest, default, hops)
    if dry_run or not (wanted.plan or also_held):
        return wanted.plan
    wanted = hold_runs(
        connection,
        wanted,
        lambda: _tree(connection, selection, latest, default, hops),
        lambda one: one.plan.run_ids.union(also_held),
    )
    if wanted.beyond or wanted.plan.moves.removed:
        lock_instances(connection, ((one["month"], one["id"]) for one in wanted.plan.instances))
    _act_on_all(connection, wanted, now)
    return wanted.plan


@dataclass(frozen=True, slots=True)
class _Planned:
    """A plan with what it takes to act on it; ``beyond`` are those of the plan's own ``beyond``."""

    plan: Plan
    graphs: Mapping[int, Graph]
    states: Sequence[str]
    beyond: tuple[_Planned, ...]


def _tree(
    connection: Connection, selection: Selection, latest: bool | None, default: bool, hops: int | None
) -> _Planned:
    """Return the plan of a selection, and of all to which markers pass it on."""
    found, graphs = _plan(connection, selection, selected_runs(connection, selection), latest, default)
    passed = selections_beyond(connection, found.cleared, graphs, hops)
    beyond = tuple(_tree(connection, one, None, default, left) for one, left in passed)
    return _Planned(replace(found, beyond=tuple(one.plan for one in beyond)), graphs, _states(selection), beyond)


def _act_on_all(connection: Connection, wanted: _Planned, now: datetime) -> None:
    if wanted.plan:
        _act(connection, wanted.plan, wanted.graphs, wanted.states, now)
    for one in wanted.beyond:
        _act_on_all(connection, one, now)


def _plan(
    connection: Connection, selection: Selection, chosen: Sequence[Row], latest: bool | None, default: bool
) -> tuple[Plan, Mapping[int, Graph]]:
    """Return the plan for these runs, and the graph that each of them goes on with, by the run's id."""
    dag, document = newest_version(connection, selection.dag_id)
    if latest is None:
        latest = default if document.rerun_with_latest_version is None else document.rerun_with_latest_version
    newest = dag["version_id"]
    graphs = GraphCache().get(connection, {newest} | (set() if latest else {run["version_id"] for run in chosen}))
    of_run = {run["id"]: graphs[newest if latest else run["version_id"]] for run in chosen}
    tasks = tasks_by_version(selection, graphs)
    of_runs = {run: tasks[graph.version_id] for run, graph in of_run.items()}
    found = instances_of(connection, chosen, of_runs, _states(selection))
    selection = within_groups(selection, graphs.values())
    cleared = [one for one in found if is_meant(selection, one)]
    touched = {one["dag_run_id"] for one in cleared}
    moving = [run for run in chosen if run["id"] in touched and run["version_id"] != of_run[run["id"]].version_id]
    moves = moves_to(connection, graphs[newest], moving, cleared)
    gone = {one["id"] for one in moves.removed}
    kept = tuple(one for one in cleared if one["id"] not in gone)
    return Plan(tuple(run for run in chosen if run["id"] in touched), kept, moves), of_run


def _states(selection: Selection) -> Sequence[str]:
    if selection.only_failed:
        return ("failed", "upstream_failed")
    return ("running",) if selection.only_running else _CLEARABLE


def _act(
    connection: Connection, wanted: Plan, graphs: Mapping[int, Graph], states: Sequence[str], now: datetime
) -> None:
    moved = [run["id"] for run in wanted.moves.runs]
    for month, batch in groupby(sorted(wanted.cleared, key=itemgetter("month")), key=itemgetter("month")):
        listed = list(batch)
        retries = [_retries(graphs[one["dag_run_id"]], one["task_id"]) for one in listed]
        cleared = instances.clear(connection, [one["id"] for one in listed], retries, states, month=month, now=now)
        tell_workers(connection, cleared, "its task was cleared")
    for month, of_month in groupby(sorted(wanted.moves.removed, key=itemgetter("month")), key=itemgetter("month")):
        ended = of_versions.remove(connection, [one["id"] for one in of_month], month=month, now=now)
        tell_workers(connection, ended, "its task is not in the version that its run goes on with")
    if moved:
        _move(connection, wanted.moves, graphs, now)
    runs.requeue(connection, [run["id"] for run in wanted.runs if run["state"] in FINISHED_RUNS], now=now)
    runs.go_on(connection, [run["id"] for run in wanted.runs])
    runs.wake(connection, [(run["id"], now) for run in wanted.runs])
    notify(connection, WAKE, RUNS)


def _retries(graph: Graph, task_id: str) -> int:
    return min(graph.nodes[graph.index[task_id]].task.retries, instances.MOST_RETRIES)


def _move(connection: Connection, moves: Moves, graphs: Mapping[int, Graph], now: datetime) -> None:
    """Give runs the newest version: its number, instances of its new tasks, and what it says of the old ones."""
    newest = graphs[moves.runs[0]["id"]]
    runs.move_to_version(connection, [run["id"] for run in moves.runs], newest.version_id)
    for month, batch in groupby(sorted(moves.runs, key=itemgetter("month")), key=itemgetter("month")):
        ids = [run["id"] for run in batch]
        new = [
            instance_row(newest, newest.index[one["task_id"]], one["dag_run_id"])
            for one in moves.added
            if one["dag_run_id"] in ids
        ]
        of_versions.bring_back(connection, new, month=month)
        instances.insert_instances(connection, new, month=month, now=now)
        columns = [task_columns(newest, index) for index in range(len(newest.nodes))]
        of_versions.take_columns(connection, ids, columns, month=month)
