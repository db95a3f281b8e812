"""The database as one account may see it: every transaction that a handler opens reaches its scope and nothing else.

Made by ``service`` for requests of accounts whose rights do not reach everything (``rights.scoped_views``), so that no
handler has to think of it, and none can forget it (case F12).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection

from treadle_metadata.connection import Database
from treadle_metadata.rights.scoped_views import Scope, enter

T = TypeVar("T")


class ScopedDatabase(Database):
    """Shares the connections of ``whole``, which goes on to belong to whoever made it."""

    def __init__(self, whole: Database, scope: Scope) -> None:
        self.__dict__.update(vars(whole))
        self._scope = scope

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Open one transaction that reaches the scope only."""
        with super().begin() as connection:
            enter(connection, self._scope)
            yield connection

    def run_each(self, act: Callable[[Connection], T]) -> T:
        """Run ``act`` in one transaction: what says its scope does not outlive one."""
        with self.begin() as connection:
            return act(connection)

    def close(self) -> None:
        """Do nothing: the connections are not ours."""
