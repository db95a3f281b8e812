"""The order of a graph: topological, ties by definition; and the path of a cycle where there is no order. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Mapping


def topological(upstream: Mapping[str, frozenset[str]]) -> list[str]:
    """Return the ids, each after those that ``upstream`` says it waits for; ties in the mapping's order.

    Ids on a cycle, and those after one, are left out: a result shorter than ``upstream`` tells that there is one.
    """
    place = {name: number for number, name in enumerate(upstream)}
    downstream: dict[str, list[str]] = {name: [] for name in upstream}
    waiting: dict[str, int] = {}
    for name, before in upstream.items():
        known = [one for one in before if one in place]
        waiting[name] = len(known)
        for one in known:
            downstream[one].append(name)
    names = list(upstream)
    ready = [place[name] for name in names if waiting[name] == 0]
    order: list[str] = []
    while ready:
        name = names[heapq.heappop(ready)]
        order.append(name)
        for one in downstream[name]:
            waiting[one] -= 1
            if waiting[one] == 0:
                heapq.heappush(ready, place[one])
    return order


def cycle_in(upstream: Mapping[str, frozenset[str]]) -> list[str]:
    """Return one cycle in the direction of the work, its first id again at its end; empty if there is none."""
    rest = {name: upstream[name] for name in upstream.keys() - set(topological(upstream))}
    if not rest:
        return []
    # Whatever is left waits for something that is left: going upstream must come back to where it has been.
    seen: dict[str, int] = {}
    path: list[str] = []
    name = min(rest)
    while name not in seen:
        seen[name] = len(path)
        path.append(name)
        name = min(one for one in rest[name] if one in rest)
    cycle = path[seen[name] :][::-1]
    start = cycle.index(min(cycle))
    return [*cycle[start:], *cycle[:start], cycle[start]]
