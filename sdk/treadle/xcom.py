"""The typed JSON of XComs: what tasks hand to each other.

The task runtime calls :func:`dumps` when a value is pushed and :func:`loads` when one is pulled; servers call
:func:`to_plain`, which imports nothing and builds no class. A value that cannot come back as it was is refused at
push, with the path of the bad element; a pull never fails for the value's sake (case G9).

JSON values stand for themselves. Anything else is ``{"$type": name, "$value": ...}``. A dict of the user's own that
holds ``$type``, or keys that are not strings, is written as a list of pairs, so nothing can be taken for a marker.
Classes (Enum, dataclass, pydantic model) come back only if their module is loaded already: nothing is imported
because a stored value names it (case F24), and no constructor runs.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
import pathlib
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, Final

from treadle.errors import XComTooLargeError, XComTypeError
from treadle.lazy import LazySequence
from treadle.xcom_reading import LIBRARIES, PLAIN, TYPE, VALUE, arrays, decode, show

RETURN_KEY: Final = "return_value"
"""The key of a task's return value."""

MAX_DEPTH: Final = 150
"""Containers within containers; deeper values (or one that contains itself) are refused at push."""

_HUGE_INT_BITS: Final = 4_000


class _Refused(Exception):
    """A value that no type of ours can carry; the path grows while the call stack unwinds."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []


def dumps(value: Any, *, key: str = RETURN_KEY, max_bytes: int | None = None) -> tuple[str, int | None]:
    """Return the text to store for ``value``, and its length if a mapped task could be expanded over it.

    Raises:
        XComTypeError: an element cannot be carried; names its path.
        XComTooLargeError: the text is longer than ``max_bytes`` bytes (case G8).
    """
    try:
        plain = encode(value, 0)
    except _Refused as refused:
        path = "$" + "".join(reversed(refused.path))
        raise XComTypeError(key=key, path=path, reason=refused.reason) from None
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:  # lone surrogates have no UTF-8 form; JSON's escapes carry them
        text = json.dumps(plain, separators=(",", ":"), allow_nan=False)
        size = len(text)
    if max_bytes is not None and size > max_bytes:
        raise XComTooLargeError(key=key, size=size, limit=max_bytes)
    return text, len(value) if isinstance(value, (list, tuple, dict, LazySequence)) else None


def loads(text: str) -> Any:
    """Return the value that :func:`dumps` wrote. For processes that run user code; servers use :func:`to_plain`."""
    return decode(json.loads(text))


def to_plain(text: str) -> Any:
    """Return plain JSON to show for a stored text: typed values as text or lists, classes as dicts, nothing built."""
    return show(json.loads(text))


def encode(value: Any, depth: int) -> Any:
    """Return the JSON form of ``value``; raises ``_Refused``, which :func:`dumps` turns into a sentence."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if depth > MAX_DEPTH:
        raise _Refused(f"nested more than {MAX_DEPTH} levels deep, or a container that contains itself")
    writer = _WRITERS.get(kind)
    if writer is not None:
        return writer(value, depth)
    return _encode_by_family(value, kind, depth)


def typed(name: str, value: Any, /, **more: Any) -> dict[str, Any]:
    """Return the marked form of one typed value."""
    return {TYPE: name, VALUE: value, **more}


def refuse(reason: str) -> Exception:
    """Return the exception by which an encoder refuses a value."""
    return _Refused(reason)


@contextmanager
def within(step: str) -> Iterator[None]:
    """Name the step of the path under which the body encodes an element."""
    try:
        yield
    except _Refused as refused:
        refused.path.append(step)
        raise


def _encode_by_family(value: Any, kind: type[Any], depth: int) -> Any:
    if isinstance(value, Enum):
        return typed("enum", encode(value.value, depth + 1), name=value.name, **{"class": _class_name(kind)})
    library = kind.__module__.partition(".")[0]
    if library in LIBRARIES and library in sys.modules:
        return arrays().encode(value, depth)
    if hasattr(kind, "__dataclass_fields__"):
        return _encode_fields("dataclass", value, kind, list(kind.__dataclass_fields__), depth)
    if hasattr(kind, "model_fields") and hasattr(kind, "model_construct"):
        names = [*kind.model_fields, *(getattr(value, "model_extra", None) or ())]
        return _encode_fields("pydantic", value, kind, names, depth)
    for family, writer in _FAMILIES:
        if isinstance(value, family):
            return writer(value, depth)
    raise _Refused(_describe(value, kind))


def _encode_fields(name: str, value: Any, kind: type[Any], names: list[str], depth: int) -> Any:
    written = {}
    for field in names:
        try:
            written[field] = encode(getattr(value, field), depth + 1)
        except AttributeError:
            raise _Refused(f"a {kind.__name__} whose field {field!r} has no value") from None
        except _Refused as refused:
            refused.path.append(f".{field}")
            raise
    return typed(name, written, **{"class": _class_name(kind)})


def _encode_int(value: int, _: int) -> Any:
    # Python itself refuses to read longer decimal numbers (sys.int_info.default_max_str_digits).
    return int(value) if value.bit_length() <= _HUGE_INT_BITS else typed("int", hex(value))


def _encode_float(value: float, _: int) -> Any:
    return float(value) if math.isfinite(value) else typed("float", str(float(value)))


def _encode_items(value: Any, depth: int) -> list[Any]:
    written = []
    for index, item in enumerate(value):
        try:
            written.append(item if type(item) in PLAIN else encode(item, depth + 1))
        except _Refused as refused:
            refused.path.append(f"[{index}]")
            raise
    return written


def _encode_dict(value: dict[Any, Any], depth: int) -> Any:
    written: dict[str, Any] = {}
    for key, item in value.items():
        if type(key) is not str or key == TYPE:
            return typed("dict", [list(pair) for pair in _encode_pairs(value, depth)])
        try:
            written[key] = item if type(item) in PLAIN else encode(item, depth + 1)
        except _Refused as refused:
            refused.path.append(_step(key))
            raise
    return written


def _encode_pairs(value: dict[Any, Any], depth: int) -> list[tuple[Any, Any]]:
    pairs = []
    for key, item in value.items():
        try:
            pairs.append((encode(key, depth + 1), encode(item, depth + 1)))
        except _Refused as refused:
            refused.path.append(_step(key))
            raise
    return pairs


def _encode_set(name: str) -> Callable[[Any, int], Any]:
    def encode_set(value: Any, depth: int) -> Any:
        # Sorted by their text, so that one value has one text whatever the hash seed.
        return typed(name, sorted(_encode_items(value, depth), key=lambda item: json.dumps(item, sort_keys=True)))

    return encode_set


def _encode_moment(value: Any, _: int) -> Any:
    written = typed("datetime" if isinstance(value, datetime.datetime) else "time", value.isoformat())
    zone = getattr(value.tzinfo, "key", None) or getattr(value.tzinfo, "zone", None)
    if isinstance(zone, str):
        written["zone"] = zone
    if value.fold:
        written["fold"] = 1
    return written


def _encode_delta(value: datetime.timedelta, _: int) -> Any:
    return typed("timedelta", [value.days, value.seconds, value.microseconds])


_WRITERS: dict[type[Any], Callable[[Any, int], Any]] = {
    int: _encode_int,
    float: _encode_float,
    list: _encode_items,
    dict: _encode_dict,
    tuple: lambda value, depth: typed("tuple", _encode_items(value, depth)),
    set: _encode_set("set"),
    frozenset: _encode_set("frozenset"),
    bytes: lambda value, _: typed("bytes", base64.b64encode(value).decode()),
    bytearray: lambda value, _: typed("bytearray", base64.b64encode(value).decode()),
    datetime.datetime: _encode_moment,
    datetime.date: lambda value, _: typed("date", value.isoformat()),
    datetime.time: _encode_moment,
    datetime.timedelta: _encode_delta,
    decimal.Decimal: lambda value, _: typed("decimal", str(value)),
    uuid.UUID: lambda value, _: typed("uuid", str(value)),
}

# Subclasses come back as the plain type: equal, if not the same class. A datetime is a date, so it comes first.
_FAMILIES: tuple[tuple[type[Any], Callable[[Any, int], Any]], ...] = (
    (str, lambda value, _: str.__str__(value)),
    *((kind, writer) for kind, writer in _WRITERS.items()),
    (LazySequence, _encode_items),
    (pathlib.PurePath, lambda value, _: typed("path", str(value))),
)


def _class_name(kind: type[Any]) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _step(key: Any) -> str:
    return f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]"


def _describe(value: Any, kind: type[Any]) -> str:
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    what = f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
    if hasattr(value, "__next__"):
        return f"{what} can be read only once; return list(...) of it"
    if callable(value):
        return f"{what} is code, not data; return what the next task needs of it"
    if hasattr(value, "__iter__"):
        return f"{what} has no typed JSON form; return list(...) of it"
    return f"{what} has no typed JSON form; return plain data, a dataclass, or a path or URI to where it is stored"
