"""The one place of the tests that lets time pass: waiting for a condition, never for a duration."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
INTERVAL_SECONDS = 0.002


def wait_until(condition: Callable[[], T | None], timeout: float = 10.0) -> T:
    """Return the first true result of ``condition``; fail when there is none within ``timeout`` seconds."""
    end = time.monotonic() + timeout
    interval = INTERVAL_SECONDS
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            name = getattr(condition, "__qualname__", repr(condition))
            raise AssertionError(f"{name} was still {result!r} after {timeout:g} s")
        time.sleep(interval)
        # Short waits stay exact, long ones leave the processor to whom we wait for.
        interval = min(interval * 1.2, 0.05)


async def until(truth: Callable[[], object], seconds: float = 5) -> None:
    """Let the event loop turn until ``truth`` holds."""
    async with asyncio.timeout(seconds):
        while not truth():
            await asyncio.sleep(0)
