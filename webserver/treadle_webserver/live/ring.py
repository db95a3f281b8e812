"""What was told last, numbered, so that a browser that comes back reads on where it left off. Pure; kept by ``hub``.

Bounded: what is too old is forgotten, and whoever asks for it is told to look at everything again.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

KEPT: Final = 2_000


@dataclass(frozen=True, slots=True)
class ChangedRun:
    """A run that changed; ``tasks``: so did states of its task instances; ``state`` is how it was read afterwards."""

    dag_id: str
    run_id: str
    state: str
    tasks: bool


@dataclass(frozen=True, slots=True)
class Told:
    """One message to pages: runs, DAGs (None: any of them) and kinds of things that changed."""

    number: int
    runs: tuple[ChangedRun, ...] = ()
    dags: frozenset[str] | None = frozenset()
    kinds: frozenset[str] = frozenset()
    whole: bytes = field(default=b"", repr=False)
    """The message for whoever may see everything: made once, sent to all of them."""

    def text(self, event_id: str, sees: Callable[[str], bool]) -> bytes | None:
        """Return the message as somebody gets it who sees only some DAGs; None if nothing of it is left."""
        runs = [one for one in self.runs if sees(one.dag_id)]
        dags = None if self.dags is None else [one for one in self.dags if sees(one)]
        if not (runs or dags is None or dags or self.kinds):
            return None
        return message("change", _content(runs, dags, self.kinds), event_id)


def _content(runs: Any, dags: Any, kinds: frozenset[str]) -> dict[str, Any]:
    return {
        "runs": [{"dag_id": one.dag_id, "run_id": one.run_id, "state": one.state, "tasks": one.tasks} for one in runs],
        "dags": None if dags is None else sorted(dags),
        "kinds": sorted(kinds),
    }


def message(event: str, content: Any, event_id: str | None = None) -> bytes:
    """Return a server-sent event with JSON for its data."""
    head = f"id: {event_id}\n" if event_id is not None else ""
    return f"{head}event: {event}\ndata: {json.dumps(content, separators=(',', ':'))}\n\n".encode()


class Ring:
    """The last ``kept`` messages. ``epoch`` tells one process's numbers from another's."""

    def __init__(self, epoch: str, kept: int = KEPT) -> None:
        self._epoch = epoch
        self._told: deque[Told] = deque(maxlen=kept)
        self.newest = 0
        """The number of the newest message; 0 before the first."""

    def add(self, runs: tuple[ChangedRun, ...], dags: frozenset[str] | None, kinds: frozenset[str]) -> None:
        """Tell something new."""
        self.newest += 1
        content = _content(runs, dags, kinds)
        whole = message("change", content, self.id_of(self.newest))
        self._told.append(Told(self.newest, runs, dags, kinds, whole))

    def skip(self) -> None:
        """Note that something was missed: whoever was told something before has to look at everything again."""
        self.newest += 1
        self._told.clear()

    def after(self, number: int) -> list[Told] | None:
        """Return what was told after ``number``; None if some of it is forgotten."""
        if number == self.newest:
            return []
        first = self._told[0].number if self._told else self.newest + 1
        if not first - 1 <= number <= self.newest:
            return None
        return [one for one in self._told if one.number > number]

    def id_of(self, number: int) -> str:
        """Return what a browser names a message by."""
        return f"{self._epoch}-{number}"

    def number_of(self, event_id: str) -> int | None:
        """Return the number of a message, None if it is not one of this ring's."""
        epoch, _, number = event_id.rpartition("-")
        return int(number) if epoch == self._epoch and number.isdecimal() and number.isascii() else None
