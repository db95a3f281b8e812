"""Reading the typed JSON of XComs: back to values for user code, or to plain JSON for servers and people.

:mod:`treadle.xcom` calls :func:`decode` in processes that run user code and :func:`show` everywhere else.
``show`` builds no class and imports nothing. A typed element that is not as we write it (a person edited it, or a
newer SDK wrote it) comes back as the dict that it is: a pull does not fail for the form of a value (case G9).
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import pathlib
import sys
import uuid
import zoneinfo
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

TYPE: Final = "$type"
VALUE: Final = "$value"
PLAIN: Final = frozenset({str, bool, type(None)})
"""Exact types that stand for themselves in JSON and need no look inside."""

# Loaded only when a value of these libraries is met: the SDK depends on none of them.
LIBRARIES: Final = ("numpy", "pandas", "pyarrow")


def arrays() -> Any:
    """Return :mod:`treadle.xcom_arrays`; by name, since it imports numpy and its kin, which most tasks never need."""
    return import_module("treadle.xcom_arrays")


def decode(plain: Any) -> Any:
    """Return the value of a JSON form."""
    if isinstance(plain, list):
        return [item if type(item) in PLAIN else decode(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    name = plain.get(TYPE)
    if name is None:
        return {key: item if type(item) in PLAIN else decode(item) for key, item in plain.items()}
    reader = _READERS.get(name) if isinstance(name, str) else None
    if reader is not None:
        try:
            return reader(plain)
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
            return plain
    if isinstance(name, str) and name.partition(".")[0] in LIBRARIES:
        return arrays().decode(plain)
    return plain


def _decode_datetime(plain: dict[str, Any]) -> datetime.datetime:
    value = datetime.datetime.fromisoformat(plain[VALUE]).replace(fold=plain.get("fold", 0))
    zone = _zone(plain.get("zone"))
    return value.replace(tzinfo=zone) if zone is not None else value


def _decode_time(plain: dict[str, Any]) -> datetime.time:
    value = datetime.time.fromisoformat(plain[VALUE]).replace(fold=plain.get("fold", 0))
    zone = _zone(plain.get("zone"))
    return value.replace(tzinfo=zone) if zone is not None else value


@lru_cache(maxsize=64)
def _zone(name: str | None) -> datetime.tzinfo | None:
    """Return the named zone; None, so that the written offset stands, where this machine does not know it."""
    if name is None:
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return None


def _decode_enum(plain: dict[str, Any]) -> Any:
    kind = _loaded_class(plain.get("class"))
    value = decode(plain[VALUE])
    if isinstance(kind, type) and issubclass(kind, Enum):
        by_name = kind.__members__.get(plain.get("name") or "")
        if by_name is not None:
            return by_name
        try:
            return kind(value)
        except ValueError:
            return value
    return value


def _decode_dataclass(plain: dict[str, Any]) -> Any:
    kind = _loaded_class(plain.get("class"))
    values = {name: decode(item) for name, item in plain[VALUE].items()}
    if not isinstance(kind, type) or set(getattr(kind, "__dataclass_fields__", ())) != set(values):
        return values
    made: Any = object.__new__(kind)
    for name, item in values.items():
        object.__setattr__(made, name, item)
    return made


def _decode_pydantic(plain: dict[str, Any]) -> Any:
    kind = _loaded_class(plain.get("class"))
    values = {name: decode(item) for name, item in plain[VALUE].items()}
    if not isinstance(kind, type) or not set(getattr(kind, "model_fields", ("",))) <= set(values):
        return values
    return kind.model_construct(**values)  # type: ignore[attr-defined]


def _loaded_class(name: Any) -> Any:
    if not isinstance(name, str) or "<locals>" in name:
        return None
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for step in path.split("."):
        found = getattr(found, step, None)
    return found


_READERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict": lambda plain: {decode(key): decode(item) for key, item in plain[VALUE]},
    "tuple": lambda plain: tuple(decode(plain[VALUE])),
    "set": lambda plain: set(decode(plain[VALUE])),
    "frozenset": lambda plain: frozenset(decode(plain[VALUE])),
    "int": lambda plain: int(plain[VALUE], 16),
    "float": lambda plain: float(plain[VALUE]),
    "bytes": lambda plain: base64.b64decode(plain[VALUE]),
    "bytearray": lambda plain: bytearray(base64.b64decode(plain[VALUE])),
    "datetime": _decode_datetime,
    "date": lambda plain: datetime.date.fromisoformat(plain[VALUE]),
    "time": _decode_time,
    "timedelta": lambda plain: datetime.timedelta(*plain[VALUE]),
    "decimal": lambda plain: decimal.Decimal(plain[VALUE]),
    "uuid": lambda plain: uuid.UUID(plain[VALUE]),
    "path": lambda plain: pathlib.Path(plain[VALUE]),
    "enum": _decode_enum,
    "dataclass": _decode_dataclass,
    "pydantic": _decode_pydantic,
}


def show(plain: Any) -> Any:
    """Return plain JSON to show for a JSON form."""
    if isinstance(plain, list):
        return [show(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    name = plain.get(TYPE)
    if name is None:
        return {key: show(item) for key, item in plain.items()}
    if "summary" in plain:
        return plain["summary"]
    value: Any = plain.get(VALUE)
    if name == "dict" and isinstance(value, list):
        pairs = [pair for pair in value if isinstance(pair, list) and len(pair) == 2]
        return {_show_key(key): show(item) for key, item in pairs} if len(pairs) == len(value) else plain
    if name == "timedelta":
        try:
            return str(datetime.timedelta(*value))
        except (TypeError, OverflowError):
            return show(value)
    return show(value)


def _show_key(key: Any) -> str:
    shown = show(key)
    return shown if isinstance(shown, str) else json.dumps(shown)
