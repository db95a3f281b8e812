"""Helpers that make many edges at once, and labels on edges."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from treadle.errors import DagError
from treadle.graph import Node, connect_all, nodes_in


class Label:
    """Text on an edge: ``check >> Label("rows missing") >> alert``. It is shown with the graph."""

    __slots__ = ("_from", "_to", "label")

    def __init__(self, label: str) -> None:
        self.label = label
        self._from: list[Node] = []
        self._to: list[Node] = []

    def label_from(self, upstream: Any) -> Label:
        """Remember what stands before the label; the edges are made when what stands after it is known."""
        self._from = list(nodes_in(upstream))
        self._connect()
        return self

    def label_to(self, downstream: Any) -> Label:
        """Remember what stands after the label."""
        self._to = list(nodes_in(downstream))
        self._connect()
        return self

    def _connect(self) -> None:
        if self._from and self._to:
            connect_all(self._from, self._to, self)
            self._from, self._to = [], []

    def __rshift__(self, other: Any) -> Any:
        self.label_to(other)
        return other

    def __lshift__(self, other: Any) -> Any:
        self.label_from(other)
        return other

    def __rrshift__(self, other: Any) -> Label:
        return self.label_from(other)

    def __rlshift__(self, other: Any) -> Label:
        return self.label_to(other)

    def __repr__(self) -> str:
        return f"Label({self.label!r})"


def chain(*steps: Any) -> None:
    """Make each step wait for the one before it. Two lists of the same length are joined pairwise.

    A step is a task, a result, a group, a label or a list of tasks.

    Raises:
        DagError: two lists of different lengths stand beside each other.
    """
    for before, after in pairwise(steps):
        _join(before, after)


def _join(before: Any, after: Any) -> None:
    if isinstance(before, Sequence) and isinstance(after, Sequence):
        if len(before) != len(after):
            raise DagError(
                f"chain cannot join a list of {len(before)} with a list of {len(after)} tasks: both must have the same "
                "length (cross_downstream and chain_linear join each with each)"
            )
        for one, other in zip(before, after, strict=True):
            _join(one, other)
    elif isinstance(before, Label):
        before >> after
    elif isinstance(after, Label):
        after.label_from(before)
    else:
        connect_all(nodes_in(before), nodes_in(after))


def chain_linear(*steps: Any) -> None:
    """Make every task of each step wait for every task of the step before it.

    Raises:
        DagError: a label is among the steps, or there are fewer than two.
    """
    for before, after in pairwise(steps):
        connect_all(nodes_in(before), list(nodes_in(after)))
    if len(steps) < 2:
        raise DagError("chain_linear needs at least two steps")


def cross_downstream(from_tasks: Any, to_tasks: Any) -> None:
    """Make every one of ``to_tasks`` wait for every one of ``from_tasks``."""
    connect_all(nodes_in(from_tasks), list(nodes_in(to_tasks)))
