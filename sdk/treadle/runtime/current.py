"""Which attempt this process runs now: its context, and who answers its questions.

The task runtime and ``dag.test()`` set it around user code; ``Variable``, ``Connection`` and
``get_current_context`` read it. It is a plain global, not a context variable: an attempt has its process to itself,
and threads that user code starts must see it too. Nothing outlives the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from treadle.errors import Asker
from treadle.runtime.supervisor import Supervisor


@dataclass(slots=True)
class _Current:
    supervisor: Supervisor | None = None
    context: Any = None
    variables: Mapping[str, str] = field(default_factory=dict)
    connections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    others_follow: bool = False


_current = _Current()


def supervisor() -> Supervisor | None:
    """Return whoever answers the questions of this process; None outside a task."""
    return _current.supervisor


def asker() -> Asker:
    """Return who asks for variables and connections now; it decides where they are looked for."""
    if _current.supervisor is None:
        return Asker.FILE
    is_test = isinstance(_current.context, Mapping) and _current.context.get("test_mode")
    return Asker.TEST if is_test else Asker.TASK


def others_follow() -> bool:
    """Tell whether this process may run another attempt after this one (``tasks_per_child``)."""
    return _current.others_follow


def let_others_follow(*, whether: bool) -> None:
    """Note whether another attempt may follow the one that begins."""
    _current.others_follow = whether


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
def given(variables: Mapping[str, str], connections: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """Let a test's own variables and connections come before those of the environment and the server."""
    before = (_current.variables, _current.connections)
    _current.variables, _current.connections = variables, connections
    try:
        yield
    finally:
        _current.variables, _current.connections = before


def given_variable(key: str) -> str | None:
    """Return a variable's text if a test gave it."""
    return _current.variables.get(key)


def given_connection(conn_id: str) -> Mapping[str, Any] | None:
    """Return a connection's fields if a test gave it."""
    return _current.connections.get(conn_id)
