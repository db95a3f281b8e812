"""``macros`` in templates: small functions on dates, and modules that templates often want.

Loaded when a template first names ``macros``. ``dateutil`` and ``yaml`` are there if they are installed.
"""

from __future__ import annotations

import importlib
import json
import time
import uuid
from datetime import UTC, datetime, timedelta
from random import random
from typing import Any

__all__ = [
    "datetime",
    "datetime_diff_for_humans",
    "ds_add",
    "ds_format",
    "json",
    "random",
    "time",
    "timedelta",
    "uuid",
]

_OPTIONAL = frozenset({"dateutil", "yaml"})
_SPANS = (
    ("year", 365 * 86_400),
    ("month", 30 * 86_400),
    ("week", 7 * 86_400),
    ("day", 86_400),
    ("hour", 3_600),
    ("minute", 60),
    ("second", 1),
)


def __getattr__(name: str) -> Any:
    if name in _OPTIONAL:
        return importlib.import_module(name)
    raise AttributeError(f"module 'treadle.macros' has no {name!r}")


def ds_add(ds: str, days: int) -> str:
    """Return the date ``days`` after (or, if negative, before) ``ds``, both as YYYY-MM-DD."""
    if not days:
        return ds
    return (datetime.strptime(ds, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=days)).strftime("%Y-%m-%d")


def ds_format(ds: str, input_format: str, output_format: str) -> str:
    """Return the date ``ds``, read by ``input_format``, written by ``output_format`` (as ``strptime`` has them)."""
    return datetime.strptime(ds, input_format).strftime(output_format)  # noqa: DTZ007 - the zone is the format's affair


def datetime_diff_for_humans(dt: datetime, since: datetime | None = None) -> str:
    """Return how far ``dt`` is from ``since`` (from now, if not given) in its largest unit: ``"2 hours ago"``."""
    seconds = ((since or datetime.now(dt.tzinfo)) - dt).total_seconds()
    size = abs(seconds)
    unit, span = next((one for one in _SPANS if size >= one[1]), _SPANS[-1])
    count = int(size // span)
    amount = f"{count} {unit}{'' if count == 1 else 's'}"
    if since is not None:
        return f"{amount} {'before' if seconds >= 0 else 'after'}"
    return f"{amount} ago" if seconds >= 0 else f"in {amount}"
