"""How explanations write instants, spans of time and lists of names. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

_UNITS: Final = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
_SHOWN: Final = 3


def instant(moment: datetime) -> str:
    """Return ``moment`` in UTC, with seconds only where it has some."""
    utc = moment.astimezone(UTC)
    return f"{utc:%Y-%m-%d %H:%M:%S} UTC" if utc.second else f"{utc:%Y-%m-%d %H:%M} UTC"


def span(seconds: float) -> str:
    """Return a length of time in its two largest units: ``4 d 2 h``, ``3 min``, ``12 s``, ``under 1 s``."""
    rest = int(seconds)
    parts = []
    for name, size in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {name}")
    return " ".join(parts[:2]) or "under 1 s"


def ahead(moment: datetime, now: datetime) -> str:
    """Return an instant to come with its distance: ``2026-03-01 06:00 UTC (in 2 h)``."""
    return f"{instant(moment)} (in {span((moment - now).total_seconds())})"


def names(listed: Sequence[str], total: int | None = None) -> str:
    """Return the first names of a list, and how many more there are."""
    more = (len(listed) if total is None else total) - min(len(listed), _SHOWN)
    shown = ", ".join(listed[:_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown


def counted(number: int, noun: str) -> str:
    """Return ``1 slot`` or ``3 slots``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
