"""Ends user code from outside: its execution timeout (SIGALRM) and being told to stop (SIGTERM).

The task runtime wraps ``execute`` in :func:`time_limit`, and worker children wrap the whole attempt in
:func:`terminable`. Either raises in the main thread, so that user code unwinds through its ``finally`` blocks; code
that will not unwind is killed by the runner host after its grace period.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType
from typing import Final

from treadle.errors import TaskTerminated, TaskTimeout

SIGTERM_EXIT_CODE: Final = 128 + signal.SIGTERM

log = logging.getLogger("treadle.task")


@contextmanager
def time_limit(
    limit: timedelta | None, on_kill: Callable[[], object], *, left: timedelta | None = None
) -> Iterator[None]:
    """Raise TaskTimeout in the body once ``limit`` is over, and call ``on_kill`` as it passes by.

    ``left`` is what is left of it, where the task began earlier: it was deferred meanwhile.

    Outside the main thread there is no alarm: the limit is then the runner host's affair.
    """
    if limit is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    seconds = (limit if left is None else left).total_seconds()

    def ring(_: int, __: FrameType | None) -> None:
        raise TaskTimeout(f"the task ran longer than its execution_timeout of {limit} ({limit.total_seconds():g} s)")

    before = signal.signal(signal.SIGALRM, ring)
    # An interval of zero would switch the alarm off.
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
    try:
        yield
    except TaskTimeout:
        signal.setitimer(signal.ITIMER_REAL, 0)
        log.error("The task timed out after %s", limit)
        call_on_kill(on_kill)
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def terminable(on_kill: Callable[[], object]) -> Iterator[None]:
    """On SIGTERM call ``on_kill`` and raise TaskTerminated in the body."""

    def stop(_: int, __: FrameType | None) -> None:
        # A second one must not break off the clean-up that the first began.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        log.error("The task was told to stop (SIGTERM)")
        call_on_kill(on_kill)
        raise TaskTerminated("the task was told to stop (SIGTERM)")

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def call_on_kill(on_kill: Callable[[], object]) -> None:
    """Call a task's ``on_kill``; what it raises is logged and changes nothing."""
    try:
        on_kill()
    except Exception:
        log.exception("on_kill failed")
