"""Whether a freshly parsed document is a new version of a DAG, or the stored one with fields that never stand still.

Called by ``decisions`` for a document whose digest differs from the stored one. A file that computes a field anew at
each parse (``start_date=now()``, random text) must not make a version per parse: such fields are found, named in a
warning and left out of the comparison (cases B11, G3). Pure; works on documents as plain JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Json = Any

_KEYED: Final = {"tasks": "task_id", "params": "name", "groups": "group_id"}
"""Lists whose items have a name, so that a field of an item can be told from the arrival of another item."""

_SHAPE: Final = frozenset({"upstream", "group_id", "parent", "operator", "module", "expand", "trigger_rule"})
"""Fields of an item that belong to the DAG's shape, like the set of its tasks."""


@dataclass(frozen=True, slots=True, order=True)
class Field:
    """A place in a document: ``name`` is ``start_date`` or ``params``; ``item`` and ``part`` lead into a keyed list."""

    name: str
    item: str = ""
    part: str = ""

    def __str__(self) -> str:
        if not self.item:
            return f"{self.part} of {self.name}" if self.part else self.name
        return f"{self.part} of {_SINGULAR[self.name]} {self.item!r}" if self.part else f"{self.name}[{self.item!r}]"

    @property
    def is_shape(self) -> bool:
        """Whether a difference here is one of tasks and edges, not of a value."""
        return self.name in _KEYED and (self.part in _SHAPE or not (self.item or self.part))

    def covers(self, other: Field) -> bool:
        """Tell whether ``other`` lies at or below this place."""
        return self.name == other.name and self.item in ("", other.item) and self.part in ("", other.part)


_SINGULAR: Final = {"tasks": "task", "params": "param", "groups": "group"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to store a new version, and which fields proved unstable (sorted)."""

    is_new: bool
    unstable: tuple[Field, ...] = ()


def judge(stored: Json | None, parsed: Json, again: Json | None, *, inputs_changed: bool) -> Verdict:
    """Compare a parsed document with the stored one.

    ``again`` is the document that a second run of the same file gave, if it differs from ``parsed``. With the same
    inputs (the file and what it reads), a difference in values alone shows fields that move with time; a difference in
    the DAG's shape is taken as real, since a file may make its tasks from something that it cannot be seen to read.
    """
    unstable = set() if again is None else set(differences(parsed, again))
    if stored is None:
        return Verdict(True, tuple(sorted(unstable)))
    remaining = [one for one in differences(stored, parsed) if not any(place.covers(one) for place in unstable)]
    if remaining and not inputs_changed and not any(one.is_shape for one in remaining):
        return Verdict(False, tuple(sorted({*unstable, *remaining})))
    # An edit of a file whose very tasks are random cannot be told from chance: an edit it is.
    edited = inputs_changed and any(place.is_shape for place in unstable)
    return Verdict(bool(remaining) or edited, tuple(sorted(unstable)))


def differences(first: Json, second: Json) -> Iterator[Field]:
    """Yield the places at which two documents differ; line numbers do not count."""
    for name in sorted((first.keys() | second.keys()) - {"line"}):
        one, other = first.get(name), second.get(name)
        if one == other:
            continue
        if name in _KEYED:
            yield from _in_list(name, one or (), other or ())
        else:
            yield Field(name)


def line_of(place: Field, document: Json) -> int | None:
    """Return the line of the definition that ``place`` belongs to, where the document knows it."""
    line: int | None = document.get("line")
    if place.name == "tasks" and place.item:
        for task in document.get("tasks", ()):
            if task["task_id"] == place.item:
                line = task.get("line") or line
    return line


def _in_list(name: str, first: Sequence[Mapping[str, Json]], second: Sequence[Mapping[str, Json]]) -> Iterator[Field]:
    key = _KEYED[name]
    ones, others = {item[key]: item for item in first}, {item[key]: item for item in second}
    if ones.keys() != others.keys():
        yield Field(name)
        return
    found = [
        Field(name, item, part) for item, one in ones.items() for part in _parts(one, others[item]) if part != "line"
    ]
    yield from sorted(found)
    if not found and list(ones) != list(others):
        yield Field(name, "", "order")


def _parts(one: Mapping[str, Json], other: Mapping[str, Json]) -> Iterable[str]:
    return sorted(part for part in one.keys() | other.keys() if one.get(part) != other.get(part))
