"""How the loop is told to look again and how widely, and how it leaves the machine to the tasks meanwhile."""

from __future__ import annotations

import threading
import time
from enum import IntEnum
from typing import Final

LONGEST_REST: Final = 0.02
"""Seconds."""

MANY: Final = 8
"""Attempts; a beat that hands over so many is worth its fixed cost."""


class Scope(IntEnum):
    """What may have changed; a wider scope holds the narrower ones."""

    NOTHING = 0
    TASKS = 1
    """Attempts ended: runs are to be advanced and tasks queued."""
    RUNS = 2
    """Runs were made, cleared or ended: others may start."""
    EVERYTHING = 3
    """Schedules, limits or DAGs too."""


class Call:
    """What any thread asks for and the loop takes in one step, so that no call is lost between look and clearing."""

    def __init__(self, scope: Scope = Scope.NOTHING) -> None:
        self._scope = scope
        self._changed = threading.Condition()

    def widen(self, scope: Scope) -> None:
        """Ask for a look at ``scope``, beside what is asked for already."""
        with self._changed:
            self._scope = max(self._scope, scope)
            self._changed.notify()

    def take(self) -> Scope:
        """Return what is asked for, and ask for nothing any more."""
        with self._changed:
            scope, self._scope = self._scope, Scope.NOTHING
            return scope

    @property
    def is_pending(self) -> bool:
        """Whether something is asked for."""
        return self._scope > Scope.NOTHING

    def wait(self, seconds: float) -> None:
        """Wait until something is asked for, at most ``seconds``."""
        with self._changed:
            self._changed.wait_for(lambda: self._scope, seconds)


class Pace:
    """Keeps beats to about half of the time: after one that took c, the next begins c later at the earliest.

    On a busy machine reports gather meanwhile, and one beat does the work of several; on an idle one the next report
    comes later than that anyway, and nothing waits (decision 24). Nor does anything wait after a beat that handed over
    many attempts, which was worth its cost, or all that are under way, after which nothing can gather.
    """

    def __init__(self) -> None:
        self._began = 0.0
        self._free_at = 0.0

    def begin(self) -> None:
        """A beat begins."""
        self._began = time.monotonic()

    def end(self, handed: int, under_way: int) -> None:
        """A beat ends that has handed over ``handed`` of the attempts that are ``under_way`` now."""
        now = time.monotonic()
        self._free_at = now
        if handed < min(under_way, MANY):
            self._free_at += min(now - self._began, LONGEST_REST)

    def rest(self) -> None:
        """Wait until the next beat may begin."""
        left = self._free_at - time.monotonic()
        if left > 0:
            time.sleep(left)
