"""What notifications of the channel ``treadle_changes`` say, put together. Pure; read by ``hub``.

The triggers that send them are in the migration that made them: a kind, and after a space the keys of what changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

CHANNEL: Final = "treadle_changes"

RIGHTS: Final = "rights"
EVERYTHING: Final = "*"
TOLD: Final = frozenset({"pool", "import_error", "backfill", "human_step", "process", "asset"})
"""Kinds of which pages are told that something of them changed, and nothing more."""


@dataclass(slots=True)
class Changes:
    """What changed since the last look.

    ``runs``: runs whose own row changed; ``tasks``: runs whose task instances changed state. ``dags``: DAGs that
    changed, or of which so much changed that the runs are not named; None: any of them may have.
    """

    runs: set[int] = field(default_factory=set)
    tasks: set[int] = field(default_factory=set)
    dags: set[str] | None = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)
    rights: bool = False

    def __bool__(self) -> bool:
        return bool(self.runs or self.tasks or self.dags is None or self.dags or self.kinds or self.rights)


def read(payloads: Iterable[str]) -> Changes:
    """Return what these notifications say together; what is not understood may have changed anything."""
    found = Changes()
    for payload in payloads:
        kind, _, keys = payload.partition(" ")
        if kind in ("run", "task") and _are_numbers(keys):
            (found.runs if kind == "run" else found.tasks).update(map(int, keys.split(",")))
        elif kind == "dag" and keys and keys != EVERYTHING:
            if found.dags is not None:
                found.dags.update(keys.split(","))
        elif kind == RIGHTS:
            found.rights = True
        elif kind in TOLD:
            found.kinds.add(kind)
        else:
            found.dags = None
    return found


def _are_numbers(keys: str) -> bool:
    return keys.replace(",", "").isdecimal()
