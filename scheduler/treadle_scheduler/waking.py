"""A flag that any thread raises and one thread takes down: how the loop is told to look again, and how widely."""

from __future__ import annotations

import threading


class Flag(threading.Event):
    """An event that is taken in one step, so that no call to set it is lost between the look and the clearing."""

    def __init__(self, *, up: bool = False) -> None:
        super().__init__()
        if up:
            self.set()

    def take(self) -> bool:
        """Tell whether it is set, and clear it only then: one set after the look stands for the next."""
        if not self.is_set():
            return False
        self.clear()
        return True
