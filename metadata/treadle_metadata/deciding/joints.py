"""Who is to be looked at when a task of a graph changes: the edges, made small.

Tasks that wait for the same tasks share one *joint*: a hundred tasks that each wait for the same hundred are one joint
of a hundred tails and a hundred heads, not ten thousand edges, and their tails are counted once for all of them.
Within a mapped task group an edge joins instances of the same index and belongs to no joint. Pure; computed once for
each version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from treadle.document import DagDocument, ExpandDocument
from treadle.errors import UnknownTriggerRule
from treadle.lengths import results_in
from treadle.mapped_tasks import mapped_homes
from treadle.trigger_rules import is_patient
from treadle_metadata.deciding.scopes import Scopes


@dataclass(frozen=True, slots=True, eq=False)
class MappedGroup:
    """A mapped task group: its tasks, in order, and the tasks whose results it is mapped over, by their indexes."""

    group_id: str
    expand: ExpandDocument
    nodes: tuple[int, ...]
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Joint:
    """Tasks (``heads``) that all wait for all of the same tasks (``tails``), each for all of their instances."""

    tails: tuple[int, ...]
    heads: tuple[int, ...]
    is_patient: bool
    """Whether a success among the tails settles nothing for any head, as long as others are unfinished."""


@dataclass(frozen=True, slots=True)
class Links:
    """The edges of a graph. Lists have one entry for each task."""

    joints: tuple[Joint, ...]
    above: tuple[int, ...]
    """The joint of the tasks that it waits for, those of its own mapped group apart."""
    below: tuple[tuple[int, ...], ...]
    """The joints that it is a tail of."""
    beside: tuple[tuple[int, ...], ...]
    """The tasks of its own mapped group that it waits for, index by index."""
    followers: tuple[tuple[int, ...], ...]
    """The tasks of its own mapped group that are to be looked at when it changes, at the same index."""
    watchers: tuple[tuple[int, ...], ...]
    """Other tasks that are to be looked at when it changes: by the scopes of setups, or mapped over its result."""


def mapped_groups(document: DagDocument, index: Mapping[str, int]) -> list[MappedGroup | None]:
    """Return, for each task, the mapped group that it stands in."""
    members: dict[str, list[int]] = {}
    homes = mapped_homes(document)
    for task_id, group in homes.items():
        members.setdefault(group.group_id, []).append(index[task_id])
    made = {}
    for group in homes.values():
        if group.expand is not None and group.group_id not in made:
            results = {one.task_id for argument in group.expand.arguments for one in results_in(argument)}
            sources = tuple(sorted(index[one] for one in results if one is not None and one in index))
            made[group.group_id] = MappedGroup(group.group_id, group.expand, tuple(members[group.group_id]), sources)
    return [made[homes[task.task_id].group_id] if task.task_id in homes else None for task in document.tasks]


def links_of(
    document: DagDocument, upstream: Sequence[tuple[int, ...]], groups: Sequence[MappedGroup | None], scopes: Scopes
) -> Links:
    """Return the edges of a graph whose tasks wait for ``upstream``."""
    beside = [_within(above, node, groups) for node, above in enumerate(upstream)]
    tails: dict[tuple[int, ...], int] = {}
    above_of = []
    for node, above in enumerate(upstream):
        outside = above if not beside[node] else tuple(one for one in above if one not in beside[node])
        above_of.append(tails.setdefault(outside, len(tails)))
    heads: list[list[int]] = [[] for _ in tails]
    for node, number in enumerate(above_of):
        heads[number].append(node)
    patient = {rule: _is_patient(rule) for rule in {task.trigger_rule for task in document.tasks}}
    joints = tuple(
        Joint(own, tuple(heads[number]), all(patient[document.tasks[head].trigger_rule] for head in heads[number]))
        for own, number in tails.items()
    )
    below: list[list[int]] = [[] for _ in upstream]
    for number, joint in enumerate(joints):
        for one in joint.tails:
            below[one].append(number)
    followers, watchers = _watching(beside, groups, scopes)
    return Links(joints, tuple(above_of), _tuples(below), tuple(beside), followers, watchers)


def _is_patient(rule: str) -> bool:
    try:
        return is_patient(rule)
    except UnknownTriggerRule:
        return False  # whoever decides on the task is told


def _within(others: Iterable[int], node: int, groups: Sequence[MappedGroup | None]) -> tuple[int, ...]:
    group = groups[node]
    return () if group is None else tuple(one for one in others if groups[one] is group)


def _watching(
    beside: Sequence[Sequence[int]], groups: Sequence[MappedGroup | None], scopes: Scopes
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    followers: list[list[int]] = [[] for _ in beside]
    watchers: list[list[int]] = [[] for _ in beside]
    for node, others in enumerate(beside):
        for one in others:
            followers[one].append(node)
    for waits in (scopes.guards, scopes.work):
        for node, others in waits.items():
            for one in others:
                same = groups[node] is not None and groups[one] is groups[node]
                (followers if same else watchers)[one].append(node)
    for group in dict.fromkeys(groups):
        for source in group.sources if group is not None else ():
            watchers[source].extend(group.nodes if group is not None else ())
    return _tuples(followers), _tuples(watchers)


def _tuples(lists: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(dict.fromkeys(one)) for one in lists)
