"""What changes in a run that moves to another version of its DAG: tasks that come, and tasks that go.

Called by clearing for its plan. Reads only; the runs are locked by the caller when the plan is to be carried out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from treadle_metadata.deciding.graph import Graph
from treadle_metadata.selecting import Row
from treadle_metadata.statements import rows
from treadle_metadata.states import TaskState


@dataclass(frozen=True, slots=True)
class Moves:
    """The runs that move to ``version_id``, with the instances that they gain and lose by that."""

    version_id: int
    runs: tuple[Row, ...] = ()
    added: tuple[Row, ...] = ()
    """Instances that are to be made: ``dag_run_id``, ``run_id``, ``logical_date``, ``task_id``, ``map_index`` -1."""
    removed: tuple[Row, ...] = ()
    """Instances of tasks that the version does not have, or has not mapped any more."""


def moves_to(connection: Connection, newest: Graph, moving: Sequence[Row], cleared: Sequence[Row]) -> Moves:
    """Return what moving the runs ``moving`` to the version ``newest`` changes; ``cleared`` are to run again."""
    if not moving:
        return Moves(newest.version_id)
    meant = {one["id"] for one in cleared}
    added: list[Row] = []
    removed: list[Row] = []
    for run, found in _instances(connection, moving):
        gone = [one for one in found if _goes(newest, one, meant)]
        removed += gone
        ids = {one["id"] for one in gone}
        living = {
            one["task_id"]
            for one in found
            if one["id"] not in ids and (one["state"] != TaskState.REMOVED or one["id"] in meant)
        }
        added += [_new(run, task_id) for task_id in newest.index if task_id not in living]
    return Moves(newest.version_id, tuple(moving), tuple(added), tuple(removed))


def _instances(connection: Connection, moving: Sequence[Row]) -> list[tuple[Row, list[Row]]]:
    found = rows(
        connection,
        """
        SELECT instance.*, run.run_id, run.logical_date
        FROM unnest(%(ids)s::bigint[]) AS meant (id) JOIN dag_run AS run ON run.id = meant.id
        JOIN task_instance AS instance ON instance.dag_run_id = run.id AND instance.month = run.month
        ORDER BY run.id, instance.id
        """,
        {"ids": [run["id"] for run in moving]},
    )
    by_run: dict[int, list[Row]] = {run["id"]: [] for run in moving}
    for one in found:
        by_run[one["dag_run_id"]].append(one)
    return [(run, by_run[run["id"]]) for run in moving]


def _goes(newest: Graph, instance: Row, meant: set[int]) -> bool:
    if instance["state"] == TaskState.REMOVED:
        return False
    position = newest.index.get(instance["task_id"])
    if position is None:
        return True
    # A task that was mapped and is not any more runs once; its former instances go when it is to run again.
    node = newest.nodes[position]
    is_mapped = node.task.expand is not None or node.group is not None
    return not is_mapped and instance["map_index"] >= 0 and instance["id"] in meant


def _new(run: Row, task_id: str) -> Mapping[str, Any]:
    return {
        "dag_run_id": run["id"],
        "run_id": run["run_id"],
        "logical_date": run["logical_date"],
        "task_id": task_id,
        "map_index": -1,
        "state": TaskState.NONE.value,
    }
