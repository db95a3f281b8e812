"""What is installed beside Treadle and extends it: distributions with entry points in groups of ours.

Asked by the routes of providers and plugins. Only names are read, nothing is loaded: what a distribution offers runs in
the processes that it is for, never in a web server. What is installed changes only with a new start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, distributions
from typing import Final

_GROUPS: Final = "treadle."
"""What the groups of entry points that extend Treadle begin with."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing that a distribution offers: the name that it goes by, and the path of its class."""

    kind: str
    """``executors``, ``timetables``, ``priority_strategies``."""
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Extension:
    """A distribution that extends Treadle, Treadle itself among them."""

    name: str
    version: str
    summary: str
    address: str | None
    offers: Sequence[Offer]

    def of(self, kind: str) -> list[Offer]:
        """Return what it offers of one kind, by name."""
        return sorted((one for one in self.offers if one.kind == kind), key=lambda one: one.name)


@cache
def installed() -> tuple[Extension, ...]:
    """Return the distributions that extend Treadle, by name."""
    found = {one.name: _extension(one) for one in distributions()}
    return tuple(found[name] for name in sorted(found) if found[name].offers)


def _extension(one: Distribution) -> Extension:
    offers = tuple(
        Offer(point.group.removeprefix(_GROUPS), point.name, point.value.replace(":", "."))
        for point in one.entry_points
        if point.group.startswith(_GROUPS)
    )
    return Extension(one.name, one.version, one.metadata["Summary"] or "", one.metadata["Home-page"], offers)
