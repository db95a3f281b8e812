"""Give a ready mapped task, or the tasks of a mapped group, their instances: as many as there are items.

Only the lengths of the upstream XComs are read, never their values. The placeholder (index -1) becomes instance 0.
When a cleared mapping is expanded again, it grows by new instances and shrinks by removed ones (case A35).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from math import prod

from sqlalchemy import Connection

from treadle.document import ExpandArgument, ExpandDocument, TaskDocument
from treadle.expansion import indexes_of
from treadle.lengths import length_of
from treadle_metadata.deciding.graph import Graph
from treadle_metadata.deciding.joints import MappedGroup
from treadle_metadata.fresh_instances import task_columns
from treadle_metadata.planning import explain, mapped_length
from treadle_metadata.states import TaskState
from treadle_metadata.transitions import instances, mapping


@dataclass(frozen=True, slots=True)
class Expansion:
    """Expands mapped tasks and groups of one run; ``most`` is the most instances that each may get."""

    connection: Connection
    dag_run_id: int
    graph: Graph
    month: date
    now: datetime
    most: int

    def expand(self, node_index: int) -> None:
        """Expand a mapped task and schedule its instances; a mapping over nothing is skipped."""
        task = self.graph.nodes[node_index].task
        if task.expand is None:
            return
        length = self._length(task.task_id, task.expand)
        if isinstance(length, str):
            self._fail([task.task_id], TaskState.FAILED, length)
            return
        self._give([node_index], length, TaskState.SCHEDULED)
        if length:
            self._decide([task.task_id], TaskState.SCHEDULED)

    def expand_group(self, group: MappedGroup) -> None:
        """Give all tasks of a mapped group their instances, undecided; those of a group over nothing are skipped."""
        length = self._length(group.group_id, group.expand)
        if isinstance(length, str):
            first = [one for one in group.nodes if not self.graph.links.beside[one]]
            others = [one for one in group.nodes if self.graph.links.beside[one]]
            self._fail(self._names(first), TaskState.FAILED, length)
            self._fail(self._names(others), TaskState.UPSTREAM_FAILED, length)
            return
        self._give(group.nodes, length, TaskState.NONE)

    def _length(self, name: str, expand: ExpandDocument) -> int | str:
        """Return how many instances there are to be, or why there can be none."""
        lengths = Lengths(self.connection, self.dag_run_id, self.graph, self.month)
        try:
            total = prod(lengths.of(one) for one in expand.arguments)
        except NothingToMap as error:
            return f"cannot expand {name!r}: {error}"
        if total > self.most:
            return (
                f"cannot expand {name!r} to {total} instances: the setting max_map_length allows {self.most}; "
                "raise it, or let each instance handle several items"
            )
        return total

    def _give(self, nodes: Sequence[int], length: int, state: TaskState) -> None:
        names = self._names(nodes)
        connection, run, month, now = self.connection, self.dag_run_id, self.month, self.now
        if length:
            tasks = [task_columns(self.graph, one) for one in nodes]
            mapping.give_instances(connection, run, tasks, length, state, month=month, now=now)
        else:
            mapping.keep_placeholders(connection, run, names, month=month, now=now)
            self._decide(names, TaskState.SKIPPED)

    def _decide(self, names: Sequence[str], state: TaskState) -> None:
        pairs = [(self.dag_run_id, name) for name in names]
        instances.decide(self.connection, pairs, state, month=self.month, now=self.now)

    def _fail(self, names: Sequence[str], state: TaskState, reason: str) -> None:
        self._decide(names, state)
        for name in names:
            explain(self.connection, self.dag_run_id, name, reason, month=self.month)

    def _names(self, nodes: Sequence[int]) -> list[str]:
        return [self.graph.nodes[one].task.task_id for one in nodes]


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
        if above is not None and _is_mapped(self.graph, above):
            return 0  # a mapping over nothing has handed on nothing (case A36)
        raise NothingToMap(f"task {argument.task_id!r} pushed no list or dict as XCom {argument.key!r}")


def _is_mapped(graph: Graph, node: int) -> bool:
    return graph.nodes[node].task.expand is not None or graph.nodes[node].group is not None


class Items:
    """Which items of their mapped arguments instances get; the lengths of a run's task are looked up once."""

    def __init__(self, connection: Connection, month: date) -> None:
        self._connection = connection
        self._month = month
        self._known: dict[tuple[int, str], list[int] | None] = {}

    def of(self, dag_run_id: int, graph: Graph, task: TaskDocument, map_index: int) -> list[int] | None:
        """Return one index for each argument that it, or its group, is mapped over; None if that cannot be told.

        The worker then finds out for itself, and tells in the log why it cannot.
        """
        group = graph.nodes[graph.index[task.task_id]].group
        expand = task.expand if group is None else group.expand
        if expand is None or map_index < 0:
            return None
        if len(expand.arguments) == 1:
            return [map_index]
        key = (dag_run_id, task.task_id if group is None else group.group_id)
        if key not in self._known:
            self._known[key] = self._lengths(dag_run_id, graph, expand.arguments)
        lengths = self._known[key]
        return None if lengths is None or 0 in lengths else indexes_of(map_index, lengths)

    def _lengths(self, dag_run_id: int, graph: Graph, arguments: Sequence[ExpandArgument]) -> list[int] | None:
        lengths = Lengths(self._connection, dag_run_id, graph, self._month)
        try:
            return [lengths.of(one) for one in arguments]
        except NothingToMap:
            return None
