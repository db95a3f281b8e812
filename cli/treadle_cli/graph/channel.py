"""The lines between two neighbouring layers: which vertical track each bundle of links runs in.

Tasks that lead to the same set of tasks are one *net* and share a track (a fully joined pair of layers is one line, not
n times m). Lines touch only where that tells no lie; this orders the tracks. If it asks for the impossible (a circle of
wishes), the caller moves the right layer by half a row, after which no row holds both a start and an end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter


@dataclass(frozen=True, slots=True)
class Net:
    """Links that share one vertical line: the rows that it starts from and the rows that it leads to."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def is_straight(self) -> bool:
        """Whether all of it lies in one row, so that it needs no vertical line."""
        return len({*self.starts, *self.ends}) == 1

    @property
    def top(self) -> int:
        """The first row that the vertical line touches."""
        return min(*self.starts, *self.ends)

    @property
    def bottom(self) -> int:
        """The last row that the vertical line touches."""
        return max(*self.starts, *self.ends)


def nets(links: Sequence[tuple[str, str]], left: Mapping[str, int], right: Mapping[str, int]) -> list[Net]:
    """Bundle the links whose starts lead to the same ends."""
    ends_of: dict[str, list[int]] = defaultdict(list)
    for start, end in links:
        ends_of[start].append(right[end])
    starts_of: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for start, ends in ends_of.items():
        starts_of[tuple(sorted(ends))].append(left[start])
    return [Net(tuple(sorted(starts)), ends) for ends, starts in starts_of.items()]


def tracks(bundle: Sequence[Net]) -> dict[Net, int] | None:
    """Return the track of each net that needs one, counted from the left; None if there is no clear drawing."""
    left_of = {net: {other for other in bundle if other is not net and _goes_left(other, net)} for net in bundle}
    try:
        order = list(TopologicalSorter(left_of).static_order())
    except CycleError:
        return None
    taken: list[list[Net]] = []
    found: dict[Net, int] = {}
    for net in order:
        if net.is_straight:
            continue
        track = max((found[other] + 1 for other in left_of[net] if other in found), default=0)
        while track < len(taken) and any(_overlap(net, other) for other in taken[track]):
            track += 1
        if track == len(taken):
            taken.append([])
        taken[track].append(net)
        found[net] = track
    return found


def _goes_left(one: Net, other: Net) -> bool:
    """Tell whether ``one`` must be left of ``other``.

    It must where it starts in a row in which the other ends; and where they share an end but not all: the line of
    ``one`` meets the other's vertical line there, so all that the other leads to must be ends of ``one``.
    """
    return bool(set(one.starts) & set(other.ends)) or set(other.ends) < set(one.ends)


def _overlap(one: Net, other: Net) -> bool:
    return one.top <= other.bottom and other.top <= one.bottom
