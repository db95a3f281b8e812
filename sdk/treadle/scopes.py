"""What setups and teardowns mean for the rest of a graph: their scopes, and which tasks decide a run's state.

``dag.test()`` and the scheduler ask the same questions of operators and of documents, so the functions take anything
that has the four facts of :class:`ScopedTask`, and the edges as plain mappings. Pure. Rules: airflow-surface 1.9, 1.10.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

Edges = Mapping[str, Collection[str]]
"""Task id to the ids of its direct upstream, or of its direct downstream."""


class ScopedTask(Protocol):
    """What is asked of a task here: ``TaskDocument`` and ``BaseOperator`` both have it."""

    @property
    def task_id(self) -> str: ...
    @property
    def is_setup(self) -> bool: ...
    @property
    def is_teardown(self) -> bool: ...
    @property
    def on_failure_fail_dagrun(self) -> bool: ...


def reversed_edges(edges: Edges) -> dict[str, set[str]]:
    """Return downstream edges for upstream ones, and the other way round; every task of ``edges`` is a key."""
    found: dict[str, set[str]] = {one: set() for one in edges}
    for head, tails in edges.items():
        for tail in tails:
            found.setdefault(tail, set()).add(head)
    return found


def reachable(start: Collection[str], edges: Edges) -> set[str]:
    """Return what can be reached from ``start`` over ``edges``, without ``start`` unless a path leads back to it."""
    found: set[str] = set()
    waiting = [other for one in start for other in edges.get(one, ())]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting.extend(edges.get(one, ()))
    return found


def setups_of(tasks: Iterable[ScopedTask], upstream: Edges) -> dict[str, tuple[str, ...]]:
    """Return the setups of each teardown, sorted: those among its direct upstream tasks."""
    known = list(tasks)
    setups = {task.task_id for task in known if task.is_setup}
    return {task.task_id: tuple(sorted(setups & set(upstream[task.task_id]))) for task in known if task.is_teardown}


def scopes(tasks: Iterable[ScopedTask], upstream: Edges) -> dict[str, set[str]]:
    """Return, for each setup, the tasks of its scope: after it, and before a teardown of it; without the teardowns.

    Without a teardown the scope of a setup is everything after it.
    """
    known = list(tasks)
    setups = [task.task_id for task in known if task.is_setup]
    if not setups:
        return {}
    teardowns = {task.task_id for task in known if task.is_teardown}
    downstream = reversed_edges(upstream)
    found = {}
    for setup in setups:
        after = reachable([setup], downstream)
        ends = downstream[setup] & teardowns
        found[setup] = (after & reachable(ends, upstream) if ends else after) - teardowns
    return found


def guarding_setups(tasks: Iterable[ScopedTask], upstream: Edges) -> dict[str, set[str]]:
    """Return, for each task within scopes, the setups that it does not wait for directly but that must have succeeded.

    A task whose setup failed or was skipped ends as upstream_failed or skipped, whatever its own trigger rule says.
    Tasks without such setups are left out.
    """
    guards: dict[str, set[str]] = {}
    for setup, members in scopes(tasks, upstream).items():
        for member in members:
            if setup not in upstream[member]:
                guards.setdefault(member, set()).add(setup)
    return guards


def awaited_by_teardowns(tasks: Iterable[ScopedTask], upstream: Edges) -> dict[str, set[str]]:
    """Return, for each teardown with setups, the tasks between these and itself: it starts after all of them ended."""
    known = list(tasks)
    setups = setups_of(known, upstream)
    if not any(setups.values()):
        return {}
    downstream = reversed_edges(upstream)
    return {
        teardown: reachable(own, downstream) & reachable([teardown], upstream)
        for teardown, own in setups.items()
        if own
    }


def deciding_leaves(tasks: Iterable[ScopedTask], upstream: Edges) -> list[str]:
    """Return the tasks whose ends decide the state of a run, in the order of ``tasks``.

    They are the tasks that none waits for. A teardown does not count, neither as one that waits nor as a leaf, unless
    it has ``on_failure_fail_dagrun``; of a graph of nothing but such teardowns, all count.
    """
    known = list(tasks)
    passed_over = {task.task_id for task in known if task.is_teardown and not task.on_failure_fail_dagrun}
    waited_for = {tail for head, tails in upstream.items() if head not in passed_over for tail in tails}
    left_out = waited_for | passed_over
    return [task.task_id for task in known if task.task_id not in left_out] or [task.task_id for task in known]
