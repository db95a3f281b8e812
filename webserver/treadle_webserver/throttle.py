"""Bounds the logins that one web server process has under way.

They hash on purpose for long, so only a few may be under way at once: the others are told to come again. How often one
may guess is counted for the whole installation, in ``treadle_metadata.failed_logins``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

AT_ONCE: Final = 4


class Throttle:
    """Holds the places; safe to use from several threads."""

    def __init__(self) -> None:
        self._places = threading.BoundedSemaphore(AT_ONCE)

    @contextmanager
    def place(self) -> Iterator[bool]:
        """Hold a place for one login; yields False when all are taken."""
        held = self._places.acquire(blocking=False)
        try:
            yield held
        finally:
            if held:
                self._places.release()
