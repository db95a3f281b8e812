"""Builds the WHERE of a list from filters: literal SQL fragments, with every value passed as a parameter.

Called by the other modules of ``queries``. No value that a caller gave is ever part of the SQL text, except states,
which must first be members of their enum: a literal state lets the planner use the partial index of that state.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, LiteralString, TypeVar

from treadle_metadata.errors import InvalidRequestError, shown

E = TypeVar("E", bound=StrEnum)

_COMPARISONS: Final[dict[str, LiteralString]] = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """Limits of an instant or a number; a limit that is None does not limit."""

    gte: datetime | float | None = None
    gt: datetime | float | None = None
    lte: datetime | float | None = None
    lt: datetime | float | None = None


ANYTIME: Final = Between()


@dataclass(slots=True)
class Conditions:
    """A growing conjunction and its parameters."""

    parts: list[LiteralString] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)

    def add(self, sql: LiteralString, **parameters: Any) -> None:
        """Require ``sql``."""
        self.parts.append(sql)
        self.parameters |= parameters

    def equals(self, column: LiteralString, name: str, value: object) -> None:
        """Require that ``column`` is ``value``, unless that is None."""
        if value is not None:
            self.parts.append(f"{column} = %({name})s")
            self.parameters[name] = value

    def any_of(self, column: LiteralString, name: str, values: Iterable[object]) -> None:
        """Require that ``column`` is one of ``values``, unless there are none."""
        listed = list(values)
        if listed:
            self.parts.append(f"{column} = ANY(%({name})s)")
            self.parameters[name] = listed

    def states(self, column: LiteralString, kind: type[E], names: Iterable[str]) -> None:
        """Require that ``column`` is one of the states ``names``, unless there are none.

        Raises:
            InvalidRequestError: a name is not a state of ``kind``.
        """
        states = sorted({_state(kind, name) for name in names})
        if states:
            listed = ", ".join(f"'{state.value}'" for state in states)
            self.parts.append(f"{column} IN ({listed})")

    def between(self, column: LiteralString, name: str, limits: Between) -> None:
        """Require that ``column`` lies within ``limits``."""
        for suffix, sign in _COMPARISONS.items():
            value = getattr(limits, suffix)
            if value is not None:
                self.parts.append(f"{column} {sign} %({name}_{suffix})s")
                self.parameters[f"{name}_{suffix}"] = value

    def pattern(self, column: LiteralString, name: str, pattern: str | None) -> None:
        """Require that ``column`` contains ``pattern``, letter case aside; ``%``, ``_`` and ``|`` (or) have a meaning.

        ``~`` stands for everything, as in Airflow's API.
        """
        if not pattern or pattern == "~":
            return
        self.parts.append(f"{column} ILIKE ANY(%({name})s)")
        self.parameters[name] = [f"%{one.strip()}%" for one in pattern.split("|")]

    def prefix(self, column: LiteralString, name: str, prefix: str | None) -> None:
        """Require that ``column`` begins with ``prefix``, letter case counting."""
        if prefix:
            self.parts.append(f"starts_with({column}, %({name})s)")
            self.parameters[name] = prefix

    def contains(self, column: LiteralString, name: str, text: str | None) -> None:
        """Require that the JSON ``column`` contains ``text``: as JSON if it is a JSON object, else as plain text."""
        if not text:
            return
        if _is_object(text):
            self.parts.append(f"{column} @> %({name})s::jsonb")
        else:
            self.parts.append(f"strpos(lower({column}::text), lower(%({name})s)) > 0")
        self.parameters[name] = text

    @property
    def where(self) -> LiteralString:
        """The WHERE clause, or nothing."""
        return "WHERE " + " AND ".join(self.parts) if self.parts else ""


def containing(text: str) -> str:
    """Return the pattern of LIKE for what contains ``text`` as it stands: none of its characters has a meaning."""
    return "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _state(kind: type[E], name: str) -> E:
    try:
        return kind(name)
    except ValueError:
        known = ", ".join(sorted(kind))
        raise InvalidRequestError(f"state {shown(name)} is not known; expected one of {known}") from None
