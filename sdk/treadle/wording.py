"""Words of messages: a name as it can be shown, the nearest known name, and a span of time.

Called by every module that refuses something a person typed. Pure text, no state.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from datetime import timedelta


def shown(value: object, most: int = 80) -> str:
    """Return ``value`` quoted for a message: escaped where it cannot be printed, shortened where it is long."""
    text = value if isinstance(value, str) else repr(value)
    quoted = repr(text) if text.isprintable() and text.isascii() else ascii(text)
    if not isinstance(value, str):
        quoted = quoted[1:-1]
    if len(quoted) <= most:
        return quoted
    return f"{quoted[: most // 2]}...{quoted[-most // 4 :]} ({len(text)} characters)"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest of ``known``, or an empty string."""
    # difflib is wanted only where something is wrong; it is no part of the start-up of every task process.
    close = importlib.import_module("difflib").get_close_matches(name[:250], sorted(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def span_words(span: timedelta) -> str:
    """Return a span of time in words: ``1 day 6 h``, ``30 min``, ``0.5 s``."""
    minutes, seconds = divmod(span.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    exact = seconds + span.microseconds / 1_000_000
    days = f"{span.days} day{'' if span.days == 1 else 's'}"
    parts = ((span.days, days), (hours, f"{hours} h"), (minutes, f"{minutes} min"), (exact, f"{exact:g} s"))
    return " ".join(words for count, words in parts if count) or "0 s"
