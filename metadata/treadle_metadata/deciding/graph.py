"""The compiled form of a DAG version: tasks as integers in topological order, with their neighbours and weights.

The scheduler evaluates runs on graphs, never on documents; ``GraphCache`` keeps them by version, so that a version is
read and compiled once (design section 3.2).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection

from treadle import document as documents
from treadle.document import DagDocument, TaskDocument
from treadle_metadata.deciding.joints import Links, MappedGroup, links_of, mapped_groups
from treadle_metadata.deciding.scopes import Scopes, scopes_of
from treadle_metadata.errors import UnusableVersionError
from treadle_metadata.statements import rows

_INT32: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Node:
    """One task: its document, the indexes of its neighbours, and its priority weight."""

    index: int
    task: TaskDocument
    upstream: tuple[int, ...]
    downstream: tuple[int, ...]
    weight: int
    group: MappedGroup | None = None
    """The mapped task group that it stands in: it has an instance for each item of the group."""


@dataclass(frozen=True, slots=True)
class Graph:
    """One DAG version, ready to be evaluated. ``nodes`` stand in topological order."""

    document: DagDocument
    version_id: int
    version_hash: str
    nodes: tuple[Node, ...]
    index: dict[str, int]
    scopes: Scopes
    """What setups and teardowns add to the waits, and the tasks whose states make the run's state."""
    past_dependent: tuple[int, ...]
    """The tasks that wait for the run before theirs."""
    skippers: tuple[int, ...]
    """The tasks whose attempts may name tasks to skip: branches and short circuits."""
    links: Links
    """Who is to be looked at when a task changes."""

    @property
    def dag_id(self) -> str:
        """Return the DAG's id."""
        return self.document.dag_id


def compile_graph(document: DagDocument, *, version_id: int = 0, version_hash: str = "") -> Graph:
    """Compile ``document``; its tasks already stand in topological order."""
    index = {task.task_id: position for position, task in enumerate(document.tasks)}
    upstream = _upstream(document.tasks, index)
    downstream: list[list[int]] = [[] for _ in document.tasks]
    for position, above in enumerate(upstream):
        for one in above:
            downstream[one].append(position)
    weights = _weights(document.tasks, upstream, downstream)
    groups = mapped_groups(document, index)
    nodes = tuple(
        Node(position, task, upstream[position], tuple(downstream[position]), weights[position], groups[position])
        for position, task in enumerate(document.tasks)
    )
    scopes = scopes_of(document)
    past_dependent = tuple(node.index for node in nodes if node.task.waits_for_past)
    skippers = tuple(node.index for node in nodes if node.task.can_skip)
    links = links_of(document, upstream, groups, scopes)
    return Graph(document, version_id, version_hash, nodes, index, scopes, past_dependent, skippers, links)


def _upstream(tasks: Sequence[TaskDocument], index: Mapping[str, int]) -> list[tuple[int, ...]]:
    """Return the indexes that each task waits for; tasks that wait for the same ones share one tuple."""
    known: dict[tuple[str, ...], tuple[int, ...]] = {}
    for task in tasks:
        if task.upstream not in known:
            known[task.upstream] = tuple(index[name] for name in task.upstream)
    return [known[task.upstream] for task in tasks]


def _weights(
    tasks: Sequence[TaskDocument], upstream: Sequence[Sequence[int]], downstream: Sequence[Sequence[int]]
) -> list[int]:
    """Return each task's weight by its rule (specification section 16): own plus all descendants or ancestors.

    Where a strategy of the user's own has weighed it, that number is its weight.
    """
    rules = {task.weight_rule for task in tasks}
    order = range(len(tasks))
    below = _reach(reversed(order), downstream) if "downstream" in rules else {}
    above = _reach(order, upstream) if "upstream" in rules else {}
    uniform = len({task.priority_weight for task in tasks}) <= 1
    weights = []
    for position, task in enumerate(tasks):
        if task.weights:
            weights.append(task.weights[0])
            continue
        reach = {"downstream": below, "upstream": above}.get(task.weight_rule, {}).get(position, 0)
        added = task.priority_weight * reach.bit_count() if uniform else _sum_of(reach, tasks)
        weights.append(max(-_INT32, min(_INT32, task.priority_weight + added)))
    return weights


def _reach(order: Iterable[int], neighbours: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return, for each task, the set of tasks that it reaches, as the bits of an integer."""
    reach: dict[int, int] = {}
    known: dict[tuple[int, ...], int] = {}
    for position in order:
        near = tuple(neighbours[position])
        bits = known.get(near)
        if bits is None:
            bits = 0
            for one in near:
                bits |= reach[one] | 1 << one
            known[near] = bits  # the next of a layer has the same neighbours
        reach[position] = bits
    return reach


def _sum_of(bits: int, tasks: Sequence[TaskDocument]) -> int:
    return sum(task.priority_weight for position, task in enumerate(tasks) if bits >> position & 1)


class GraphCache:
    """Compiled graphs by version id; the least recently used go when there are too many.

    A version that cannot be compiled is remembered as well, so that it is not tried again and again.
    """

    def __init__(self, most: int = 1000) -> None:
        self._most = most
        self._graphs: OrderedDict[int, Graph | UnusableVersionError] = OrderedDict()

    def get(self, connection: Connection, version_ids: Iterable[int]) -> dict[int, Graph]:
        """Return the graphs of these versions, reading the missing ones in one statement.

        Raises:
            UnusableVersionError: one of them cannot be compiled.
        """
        found, unusable = self.usable(connection, version_ids)
        for error in unusable.values():
            raise error.with_traceback(None)
        return found

    def usable(
        self, connection: Connection, version_ids: Iterable[int]
    ) -> tuple[dict[int, Graph], dict[int, UnusableVersionError]]:
        """Return the graphs of those of these versions that can be compiled, and why the others cannot."""
        wanted = set(version_ids)
        missing = [one for one in wanted if one not in self._graphs]
        for row in self._read(connection, missing) if missing else ():
            self._graphs[row["id"]] = _compiled(row)
        found = {one: self._graphs[one] for one in wanted}
        for one in wanted:
            self._graphs.move_to_end(one)
        while len(self._graphs) > max(self._most, len(wanted)):
            self._graphs.popitem(last=False)
        graphs = {number: one for number, one in found.items() if isinstance(one, Graph)}
        return graphs, {number: one for number, one in found.items() if not isinstance(one, Graph)}

    @staticmethod
    def _read(connection: Connection, version_ids: Sequence[int]) -> Sequence[Any]:
        return rows(
            connection,
            "SELECT id, dag_id, document, hash FROM dag_version WHERE id = ANY(%(ids)s)",
            {"ids": list(version_ids)},
        )


def _compiled(row: Mapping[str, Any]) -> Graph | UnusableVersionError:
    try:
        return compile_graph(documents.loads(row["document"]), version_id=row["id"], version_hash=row["hash"])
    except Exception as error:
        return UnusableVersionError(row["dag_id"], row["id"], error)
