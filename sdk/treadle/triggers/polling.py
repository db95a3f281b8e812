"""What polling triggers have in common: how long they pause, and that they do not all ask at the same moment."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta


def seconds_of(span: timedelta | float) -> float:
    """Return a span in seconds.

    Raises:
        ValueError: it is not longer than nothing.
    """
    seconds = span.total_seconds() if isinstance(span, timedelta) else float(span)
    if not seconds > 0:
        raise ValueError(f"an interval must be longer than 0 seconds, not {span!r}")
    return seconds


async def pause(seconds: float) -> None:
    """Sleep for about so long: a thousand triggers that were made together shall not ask together for ever."""
    await asyncio.sleep(seconds * random.uniform(0.9, 1.1))
