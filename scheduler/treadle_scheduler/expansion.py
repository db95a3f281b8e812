"""Give a ready mapped task its instances: as many as its mapped arguments have items.

Only the lengths of the upstream XComs are read, never their values. The placeholder (index -1) becomes instance 0.
When a cleared mapping is expanded again, it grows by new instances and shrinks by removed ones (case A35).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from math import prod
from typing import Any, Final

from sqlalchemy import Connection

from treadle.document import ExpandArgument, TaskDocument
from treadle.expansion import indexes_of
from treadle.lengths import length_of
from treadle_metadata.deciding.graph import Graph
from treadle_metadata.planning import explain, mapped_length
from treadle_metadata.states import TaskState
from treadle_metadata.transitions import instances, runs
from treadle_scheduler.duties.start_runs import instance_row

MOST_INSTANCES: Final = 65_536
"""One list must not be able to fill the scheduler's memory."""


def expand(
    connection: Connection, run: Mapping[str, Any], graph: Graph, node_index: int, *, month: date, now: datetime
) -> None:
    """Expand one mapped task of one run, and schedule its instances; a mapping over nothing is skipped."""
    task = graph.nodes[node_index].task
    pair = (run["id"], task.task_id)
    arguments = task.expand.arguments if task.expand else ()
    try:
        total = prod(Lengths(connection, run["id"], graph, month).of(one) for one in arguments)
    except NothingToMap as error:
        _fail(connection, pair, f"cannot expand {task.task_id!r}: {error}", month, now)
        return
    if total > MOST_INSTANCES:
        reason = f"cannot expand {task.task_id!r} to {total} instances, the most is {MOST_INSTANCES}"
        _fail(connection, pair, reason, month, now)
        return
    if total == 0:
        instances.keep_placeholder(connection, *pair, month=month, now=now)
        instances.decide(connection, [pair], TaskState.SKIPPED, month=month, now=now)
        runs.wake(connection, [(run["id"], now)])
        return
    instances.number_first(connection, run["id"], task.task_id, month=month)
    instances.bring_back(connection, run["id"], task.task_id, total, month=month)
    new = [instance_row(graph, node_index, run["id"], map_index, "scheduled") for map_index in range(total)]
    instances.insert_instances(connection, new, month=month, now=now)
    instances.remove_beyond(connection, run["id"], task.task_id, total, month=month, now=now)
    instances.decide(connection, [pair], TaskState.SCHEDULED, month=month, now=now)


def _fail(connection: Connection, pair: tuple[int, str], reason: str, month: date, now: datetime) -> None:
    instances.decide(connection, [pair], TaskState.FAILED, month=month, now=now)
    explain(connection, *pair, reason, month=month)
    runs.wake(connection, [(pair[0], now)])


class NothingToMap(Exception):
    """A task above handed on nothing that can be mapped over."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many items the mapped arguments of one run's tasks have."""

    connection: Connection
    dag_run_id: int
    graph: Graph
    month: date

    def of(self, argument: ExpandArgument) -> int:
        """Return the number of items of one mapped argument.

        Raises:
            NothingToMap: a task above pushed no list or dict.
        """
        return length_of(argument, self._of_result) or 0

    def _of_result(self, argument: ExpandArgument) -> int:
        task_id = argument.task_id or ""
        length = mapped_length(self.connection, self.dag_run_id, task_id, argument.key, month=self.month)
        if length is not None:
            return length
        above = self.graph.index.get(task_id)
        if above is not None and self.graph.nodes[above].task.expand is not None:
            return 0  # a mapping over nothing has handed on nothing (case A36)
        raise NothingToMap(f"task {argument.task_id!r} pushed no list or dict as XCom {argument.key!r}")


class Items:
    """Which items of their mapped arguments instances get; the lengths of a run's task are looked up once."""

    def __init__(self, connection: Connection, month: date) -> None:
        self._connection = connection
        self._month = month
        self._known: dict[tuple[int, str], list[int] | None] = {}

    def of(self, dag_run_id: int, graph: Graph, task: TaskDocument, map_index: int) -> list[int] | None:
        """Return one index for each mapped argument; None if the task is not mapped or cannot be any more.

        The worker then finds out for itself, and tells in the log why it cannot.
        """
        if task.expand is None:
            return None
        if len(task.expand.arguments) == 1:
            return [map_index]
        key = (dag_run_id, task.task_id)
        if key not in self._known:
            self._known[key] = self._lengths(dag_run_id, graph, task.expand.arguments)
        lengths = self._known[key]
        return None if lengths is None or 0 in lengths else indexes_of(map_index, lengths)

    def _lengths(self, dag_run_id: int, graph: Graph, arguments: Sequence[ExpandArgument]) -> list[int] | None:
        lengths = Lengths(self._connection, dag_run_id, graph, self._month)
        try:
            return [lengths.of(one) for one in arguments]
        except NothingToMap:
            return None
