"""``>>`` and ``<<`` between tasks, results, groups and lists of them.

A :class:`Node` is anything that stands for tasks: its ``roots`` are those that wait for what comes before it, its
``leaves`` those that what comes after it waits for. Edges are kept in the operators as sets of task ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

from treadle.errors import CycleError, DagError
from treadle.wording import shown

if TYPE_CHECKING:
    from treadle.edges import Label
    from treadle.operators.base import BaseOperator

Other = TypeVar("Other")


class Node:
    """Something that can stand on either side of ``>>``."""

    __slots__ = ()

    @property
    def roots(self) -> Sequence[BaseOperator]:
        """The tasks that wait for what comes before."""
        raise NotImplementedError

    @property
    def leaves(self) -> Sequence[BaseOperator]:
        """The tasks that what comes after waits for."""
        raise NotImplementedError

    def set_upstream(self, other: Any, label: Label | None = None) -> None:
        """Make this wait for ``other``: a task, result, group or list of them."""
        for one in nodes_in(other):
            connect(one, self, label)

    def set_downstream(self, other: Any, label: Label | None = None) -> None:
        """Make ``other`` wait for this: a task, result, group or list of them."""
        for one in nodes_in(other):
            connect(self, one, label)

    def __rshift__(self, other: Other) -> Other:
        if hasattr(other, "label_from"):
            return other.label_from(self)  # type: ignore[no-any-return]
        self.set_downstream(other)
        return other

    def __lshift__(self, other: Other) -> Other:
        if hasattr(other, "label_to"):
            return other.label_to(self)  # type: ignore[no-any-return]
        self.set_upstream(other)
        return other

    def __rrshift__(self, other: Any) -> Self:
        self.set_upstream(other)
        return self

    def __rlshift__(self, other: Any) -> Self:
        self.set_downstream(other)
        return self


def nodes_in(value: Any) -> Iterator[Node]:
    """Yield the nodes of ``value``, which is one node or a list or tuple of them.

    Raises:
        DagError: something in it is no task, result or group.
    """
    if isinstance(value, Node):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from nodes_in(item)
    else:
        raise DagError(
            f"{shown(value)} ({type(value).__name__}) cannot stand in a dependency; "
            "expected a task, the result of an @task call, a task group or a list of them"
        )


def connect(upstream: Node, downstream: Node, label: Label | None = None) -> None:
    """Make the roots of ``downstream`` wait for the leaves of ``upstream``."""
    heads = tuple(downstream.roots)
    for tail in upstream.leaves:
        for head in heads:
            connect_tasks(tail, head, label)


def connect_tasks(tail: BaseOperator, head: BaseOperator, label: Label | None = None) -> None:
    """Make the task ``head`` wait for the task ``tail``.

    Raises:
        CycleError: they are the same task.
        DagError: they belong to different DAGs.
    """
    dag = tail.dag or head.dag
    if tail is head:
        raise CycleError(dag.dag_id if dag else "", [tail.task_id, tail.task_id])
    if dag is not None:
        for task in (tail, head):
            if task.dag is None:
                dag.add_task(task)
        if tail.dag is not head.dag:
            raise DagError(
                f"task {shown(head.task_id)} of DAG {shown(_dag_id(head))} cannot wait for task {shown(tail.task_id)} "
                f"of DAG {shown(_dag_id(tail))}: both must be in one DAG"
            )
        if label is not None:
            dag.edge_labels[tail.task_id, head.task_id] = label.label
    tail.downstream_task_ids.add(head.task_id)
    head.upstream_task_ids.add(tail.task_id)


def connect_all(upstream: Iterable[Node], downstream: Iterable[Node], label: Label | None = None) -> None:
    """Make each of ``downstream`` wait for each of ``upstream``."""
    heads = tuple(downstream)
    for tail in upstream:
        for head in heads:
            connect(tail, head, label)


def _dag_id(task: BaseOperator) -> str:
    return task.dag.dag_id if task.dag is not None else ""
