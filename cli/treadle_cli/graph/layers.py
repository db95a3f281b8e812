"""Where each task of a graph stands: its layer, its place within the layer, its row.

The usual four steps: longest-path layers; waypoints where an edge spans several layers (edges from one task share
them); few crossings by sweeps of barycentres; rows by least squares, so that chains come out straight. Pure and
deterministic: the same graph is drawn the same way each time.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from treadle_cli.graph.shared_ends import with_room

SWEEPS: Final = 6
Neighbours = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Layered:
    """The layers from left to right, each from top to bottom; links join neighbouring layers only."""

    layers: tuple[tuple[str, ...], ...]
    links: tuple[tuple[str, str], ...]
    rows: Mapping[str, int]
    waypoints: Mapping[str, str]
    """Waypoint to the task whose edges pass through it."""


def layered(upstream: Neighbours, *, for_shared_lines: bool = False) -> Layered:
    """Lay out the graph whose tasks have the given direct upstream tasks; keys stand in topological order.

    ``for_shared_lines``: lines that lead to one task will run together (see ``shared_ends``).
    """
    layer_of = _longest_paths(upstream)
    links, waypoints = _links(upstream, layer_of)
    if for_shared_lines:
        links = with_room(links, layer_of, waypoints)
    layers: list[list[str]] = [[] for _ in range(max(layer_of.values(), default=-1) + 1)]
    for name, layer in layer_of.items():
        layers[layer].append(name)
    before, after = _neighbours(links)
    ordered = _fewest_crossings(layers, before, after)
    return Layered(tuple(map(tuple, ordered)), tuple(links), _rows(ordered, before, after), waypoints)


def _longest_paths(upstream: Neighbours) -> dict[str, int]:
    layer_of: dict[str, int] = {}
    for name, parents in upstream.items():
        layer_of[name] = 1 + max((layer_of[parent] for parent in parents), default=-1)
    return layer_of


def _links(upstream: Neighbours, layer_of: dict[str, int]) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """Return the links between neighbouring layers, adding waypoints to ``layer_of``."""
    links: dict[tuple[str, str], None] = {}
    waypoints: dict[str, str] = {}
    for name, parents in upstream.items():
        for parent in parents:
            last = parent
            for layer in range(layer_of[parent] + 1, layer_of[name]):
                point = f"{parent}\0{layer}"
                waypoints[point] = parent
                layer_of[point] = layer
                links[last, point] = None
                last = point
            links[last, name] = None
    return list(links), waypoints


def _neighbours(links: Sequence[tuple[str, str]]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    before: dict[str, list[str]] = defaultdict(list)
    after: dict[str, list[str]] = defaultdict(list)
    for start, end in links:
        before[end].append(start)
        after[start].append(end)
    return before, after


def _fewest_crossings(layers: list[list[str]], before: Neighbours, after: Neighbours) -> list[list[str]]:
    best, fewest = [list(layer) for layer in layers], _crossings(layers, after)
    current = best
    for sweep in range(SWEEPS):
        if fewest == 0:
            break
        current = _swept(current, before) if sweep % 2 == 0 else _swept(current[::-1], after)[::-1]
        count = _crossings(current, after)
        if count < fewest:
            best, fewest = current, count
    return best


def _swept(layers: list[list[str]], neighbours: Neighbours) -> list[list[str]]:
    """Sort each layer by the mean place of its neighbours in the layer before it; ties keep their order."""
    result = [list(layers[0])]
    for layer in layers[1:]:
        place = {name: index for index, name in enumerate(result[-1])}
        keys = {}
        for index, name in enumerate(layer):
            places = [place[other] for other in neighbours.get(name, ()) if other in place]
            keys[name] = sum(places) / len(places) if places else float(index)
        result.append(sorted(layer, key=keys.__getitem__))
    return result


def _crossings(layers: list[list[str]], after: Neighbours) -> int:
    total = 0
    for left, right in pairwise(layers):
        place = {name: index for index, name in enumerate(right)}
        seen: list[int] = []
        for name in left:
            ends = sorted(place[end] for end in after.get(name, ()))
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _rows(layers: list[list[str]], before: Neighbours, after: Neighbours) -> dict[str, int]:
    rows = {name: float(index) for layer in layers for index, name in enumerate(layer)}
    for sweep in range(4):
        neighbours, order = (before, layers) if sweep % 2 == 0 else (after, layers[::-1])
        for layer in order:
            rows |= _placed(layer, neighbours, rows)
    top = min(map(round, rows.values()), default=0)
    return {name: round(row) - top for name, row in rows.items()}


def _placed(layer: list[str], neighbours: Neighbours, rows: Mapping[str, float]) -> dict[str, float]:
    """Place a layer as near as can be to the mean rows of its neighbours, in order and at least one row apart."""
    blocks: list[tuple[float, int]] = []
    for index, name in enumerate(layer):
        others = [rows[other] for other in neighbours.get(name, ())]
        block = ((sum(others) / len(others) if others else rows[name]) - index, 1)
        while blocks and blocks[-1][0] > block[0]:
            mean, size = blocks.pop()
            block = ((mean * size + block[0] * block[1]) / (size + block[1]), size + block[1])
        blocks.append(block)
    offsets = [mean for mean, size in blocks for _ in range(size)]
    return {name: index + round(offset) for index, (name, offset) in enumerate(zip(layer, offsets, strict=True))}
