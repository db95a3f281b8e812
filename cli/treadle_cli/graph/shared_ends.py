"""Makes room where lines could not be told apart: tasks that share some, not all, of the tasks they lead to.

Lines that lead to one task run together before it. With ``a >> [x, y]`` and ``b >> [y, z]`` the reader could take ``a``
to lead to ``z``. Such a pair of layers gets a layer of waypoints between them, one for each line, so that lines part
in the first channel and meet in the second.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

Link = tuple[str, str]


def with_room(links: Sequence[Link], layer_of: dict[str, int], waypoints: dict[str, str]) -> list[Link]:
    """Return the links with those waypoints put in, which are added to ``layer_of`` and ``waypoints``."""
    channels: dict[int, list[Link]] = defaultdict(list)
    for link in links:
        channels[layer_of[link[0]]].append(link)
    crowded = {layer for layer, channel in channels.items() if _is_crowded(channel)}
    for name, layer in list(layer_of.items()):
        layer_of[name] = layer + sum(one < layer for one in crowded)
    found: list[Link] = []
    for layer, channel in channels.items():
        found += _parted(channel, layer_of, waypoints) if layer in crowded else channel
    return found


def _ends_by_start(channel: Sequence[Link]) -> dict[str, frozenset[str]]:
    ends: dict[str, set[str]] = defaultdict(set)
    for start, end in channel:
        ends[start].add(end)
    return {start: frozenset(found) for start, found in ends.items()}


def _is_crowded(channel: Sequence[Link]) -> bool:
    different = set(_ends_by_start(channel).values())
    return any(one & other and not (one <= other or other <= one) for one, other in combinations(different, 2))


def _parted(channel: Sequence[Link], layer_of: dict[str, int], waypoints: dict[str, str]) -> list[Link]:
    """Lead each link over a waypoint; starts with the same ends share theirs."""
    ends = _ends_by_start(channel)
    first = {found: start for start, found in reversed(ends.items())}
    links: dict[Link, None] = {}
    for start, end in channel:
        owner = first[ends[start]]
        point = f"{owner}\0{end}\0{layer_of[start]}"
        waypoints[point] = owner
        layer_of[point] = layer_of[start] + 1
        links[start, point] = None
        links[point, end] = None
    return list(links)
