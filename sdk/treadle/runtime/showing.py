"""Rendered fields as people see them: plain JSON, masked, each field short.

The task runtime calls :func:`shown_fields` after rendering. Large values are cut while they are walked, so that a
result of 50 MB costs no more than what is kept of it. NUL characters are replaced: PostgreSQL stores none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from treadle.runtime import masking
from treadle.runtime.lazy_results import LazyResults

_PLAIN: Final = (int, float, bool, type(None))
_MAX_DEPTH: Final = 12


def shown_fields(fields: Mapping[str, Any], max_bytes: int) -> dict[str, Any] | None:
    """Return the fields for storing; None if there are none."""
    if not fields:
        return None
    return {name: masking.mask_value({name: _Show(max_bytes).show(value, 0)})[name] for name, value in fields.items()}


def storable_text(text: str) -> str:
    """Return ``text`` without what PostgreSQL cannot store: NUL and lone surrogates."""
    clean = text.replace("\0", "\ufffd")
    return clean.encode(errors="replace").decode() if not clean.isascii() else clean


class _Show:
    def __init__(self, budget: int) -> None:
        self._budget = budget

    def show(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(str(value))
        if type(value) in _PLAIN:
            self._budget -= 8
            # NaN and infinities have no JSON form.
            return value if value is None or abs(value) < 2**63 else self._text(str(value)[:100])
        if depth < _MAX_DEPTH and isinstance(value, dict):
            return self._dict(value, depth)
        if depth < _MAX_DEPTH and isinstance(value, (list, tuple, set, frozenset)):
            return self._items(value, len(value), depth)
        if depth < _MAX_DEPTH and isinstance(value, LazyResults):
            return self._items(value.at_hand(), value.known_length, depth)
        return self._text(_represented(value))

    def _text(self, text: str) -> str:
        left = max(self._budget, 40)
        cut = text if len(text) <= left else f"{text[:left]}... ({len(text):,} characters)"
        self._budget -= len(cut)
        return storable_text(cut)

    def _items(self, value: Any, length: int | None, depth: int) -> list[Any]:
        """Show the items of ``value``, which are the first of ``length`` (None: of more than can be told)."""
        found: list[Any] = []
        for item in value:
            if self._budget <= 0:
                break
            found.append(self.show(item, depth + 1))
        if length is None:
            found.append("... (more)")
        elif len(found) < length:
            found.append(f"... ({length - len(found):,} more)")
        return found

    def _dict(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, item in value.items():
            if self._budget <= 0:
                found["..."] = f"({len(value) - len(found):,} more)"
                break
            found[self._text(key if isinstance(key, str) else _represented(key))] = self.show(item, depth + 1)
        return found


def _represented(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:
        return f"<{type(value).__name__} whose repr failed: {type(error).__name__}>"
