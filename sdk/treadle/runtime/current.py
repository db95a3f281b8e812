"""Which attempt this process runs now: its context, and who answers its questions.

The task runtime and ``dag.test()`` set it around user code; ``Variable``, ``Connection`` and
``get_current_context`` read it. It is a plain global, not a context variable: an attempt has its process to itself,
and threads that user code starts must see it too. Nothing outlives the process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from treadle.runtime.supervisor import Supervisor


@dataclass(slots=True)
class _Current:
    supervisor: Supervisor | None = None
    context: Any = None


_current = _Current()


def supervisor() -> Supervisor | None:
    """Return whoever answers the questions of this process; None outside a task."""
    return _current.supervisor


def context() -> Any:
    """Return the context of the running attempt; None outside a task."""
    return _current.context


@contextmanager
def attempt(asked: Supervisor, context: Any) -> Iterator[None]:
    """Make an attempt the current one; the one before it comes back afterwards (a test within a task)."""
    before = (_current.supervisor, _current.context)
    _current.supervisor, _current.context = asked, context
    try:
        yield
    finally:
        _current.supervisor, _current.context = before


@contextmanager
def answered_by(asked: Supervisor) -> Iterator[None]:
    """Let code outside any attempt (a DAG file being loaded for a test) ask ``asked``."""
    before = _current.supervisor
    _current.supervisor = asked
    try:
        yield
    finally:
        _current.supervisor = before
