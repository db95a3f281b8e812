"""Keeps the children of a standalone installation alive until a signal asks to stop, then ends them in order.

A child that dies is started again, at once the first time, later and later if it keeps dying. Nothing is polled: the
supervisor sleeps until a signal (a child ended, stop) or the next start that is due.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from treadle_cli.standalone.daemons import children_of

log = logging.getLogger(__name__)

STOPS: Final = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
HEARD: Final = STOPS | {signal.SIGCHLD}
"""Signals that the main process keeps blocked, since it waits for them."""

LONGEST_PAUSE_SECONDS: Final = 30.0
STEADY_SECONDS: Final = 60.0
"""A child that lived this long has got over its failures."""


@dataclass(slots=True)
class Child:
    """A child by its name and how to start it; ``start`` returns its pid."""

    name: str
    start: Callable[[], int]
    # What ends it in order.
    signal: signal.Signals = signal.SIGTERM
    grace_seconds: float = 20.0
    pid: int | None = None
    started_at: float = 0.0
    failures: int = 0
    due_at: float = 0.0


class Supervisor:
    """Watches ``children``: started in their order, ended in the same order, the last one last."""

    def __init__(self, children: Iterable[Child]) -> None:
        self._children = list(children)

    def add(self, child: Child) -> None:
        """Watch ``child`` too, and end it last."""
        self._children.append(child)

    def start_due(self) -> None:
        """Start the children that do not run and have waited long enough."""
        now = time.monotonic()
        for child in self._children:
            if child.pid is None and child.due_at <= now:
                self._start(child)

    def run(self) -> signal.Signals:
        """Watch the children until a signal asks to stop; return it."""
        while True:
            self.start_due()
            heard = self.wait(self._seconds_to_next_start())
            if heard in STOPS:
                return heard

    def wait(self, seconds: float | None) -> signal.Signals | None:
        """Sleep until a signal arrives, at most ``seconds``; note which children ended."""
        if seconds is None:
            info: signal.struct_siginfo | None = signal.sigwaitinfo(HEARD)
        else:
            info = signal.sigtimedwait(HEARD, seconds)
        heard = None if info is None else signal.Signals(info.si_signo)
        if heard is signal.SIGCHLD:
            for pid, status in _ended_children():
                self._note_end(pid, status)
        return heard

    def stop(self) -> None:
        """End the children in order, kill those that do not heed, and then whatever they left behind."""
        for child in self._children:
            self._stop(child)
        _kill_remnants()

    def _start(self, child: Child) -> None:
        child.started_at = time.monotonic()
        try:
            child.pid = child.start()
        except Exception as error:
            log.error("%s cannot be started: %s", child.name, error)
            self._plan(child)

    def _plan(self, child: Child) -> float:
        """Set when to start ``child`` again and return the seconds until then."""
        now = time.monotonic()
        if now - child.started_at > STEADY_SECONDS:
            child.failures = 0
        pause = min(2.0 ** (child.failures - 1), LONGEST_PAUSE_SECONDS) if child.failures else 0.0
        child.failures += 1
        child.due_at = now + pause
        return pause

    def _note_end(self, pid: int, status: int) -> None:
        for child in self._children:
            if child.pid == pid:
                child.pid = None
                when = self._plan(child)
                then = f"in {when:.0f} s" if when else "now"
                log.warning("%s ended (%s); it is started again %s", child.name, _reason(status), then)

    def _seconds_to_next_start(self) -> float | None:
        waiting = [child.due_at for child in self._children if child.pid is None]
        return max(0.0, min(waiting) - time.monotonic()) if waiting else None

    def _stop(self, child: Child) -> None:
        if child.pid is None:
            return
        os.kill(child.pid, child.signal)
        end = time.monotonic() + child.grace_seconds
        while child.pid is not None:
            left = end - time.monotonic()
            if left <= 0:
                log.warning("%s did not end within %.0f s and is killed", child.name, child.grace_seconds)
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)
                child.pid = None
                return
            signal.sigtimedwait({signal.SIGCHLD}, left)
            for pid, _ in _ended_children():
                for one in self._children:
                    one.pid = None if one.pid == pid else one.pid


def _ended_children() -> list[tuple[int, int]]:
    """Return (pid, wait status) of all children that have ended, adopted ones too."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.append((pid, status))


def _reason(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def _kill_remnants() -> None:
    """Kill what the children left behind: as their adoptive parent (``adopt_orphans``) we see all of it."""
    _ended_children()
    while remnants := children_of(os.getpid()):
        for pid in remnants:
            log.warning("process %d was left behind and is killed", pid)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
