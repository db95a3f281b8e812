"""Halves of surrogate pairs: JSON escapes can carry them (a task logged or pushed one), UTF-8 and so no answer can."""

from __future__ import annotations

import json
from typing import Any


def may_hold_halves(text: str | bytes) -> bool:
    """Tell whether JSON ``text`` has an escape that might be half of a surrogate pair: cheap, and rarely wrong."""
    return b"\\ud" in text.lower() if isinstance(text, bytes) else "\\ud" in text.lower()


def without_halves(value: Any) -> Any:
    """Return plain JSON ``value`` with ``?`` for each half of a surrogate pair, in keys and texts at any depth."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
