"""Waiting for runs to end: short questions to the database, at 50 ms first and ever longer, with a progress bar.

The bar is drawn on a terminal only (rich is imported for it alone). Ctrl-C ends the waiting, never what is waited for.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

from sqlalchemy import Connection

from treadle_cli import database
from treadle_cli.errors import CliError, StoppedWaiting

T = TypeVar("T")

FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 1.0
GROWTH: Final = 1.2


class Bar(Protocol):
    """Shows how far something is."""

    def update(self, done: int, total: int, text: str) -> None:
        """Show ``done`` of ``total`` and a few words."""


class _NoBar:
    def update(self, done: int, total: int, text: str) -> None:
        """Show nothing: standard error is no terminal."""


def until(
    ask: Callable[[Connection], T],
    is_over: Callable[[T], bool],
    seen: Callable[[T], None],
    *,
    what: str,
    timeout: float | None = None,
) -> T:
    """Ask again and again until the answer ``is_over``, and return it; ``seen`` is called with every answer.

    Raises:
        StoppedWaiting: Ctrl-C.
        CliError: it was not over after ``timeout`` seconds.
    """
    end = None if timeout is None else time.monotonic() + timeout
    pause = FIRST_PAUSE
    try:
        with database.opened() as opened:
            while True:
                answer = opened.run(ask)
                seen(answer)
                if is_over(answer):
                    return answer
                if end is not None and time.monotonic() >= end:
                    raise CliError(f"{what} was not over after {timeout:g} s; it goes on")
                time.sleep(pause if end is None else min(pause, max(0.0, end - time.monotonic())))
                pause = min(pause * GROWTH, LONGEST_PAUSE)
    except KeyboardInterrupt:
        raise StoppedWaiting(f"stopped waiting; {what} goes on") from None


@contextmanager
def progress(title: str) -> Iterator[Bar]:
    """Show a progress bar on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield _NoBar()
        return
    # rich takes longer to import than most commands take in all.
    with importlib.import_module("treadle_cli.progress_bar").shown(title) as bar:
        yield bar
