"""Records the statements that a database runs, for tests of how many there are, or of their plans."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from treadle_metadata.connection import Database


@contextmanager
def recorded_statements(database: Database) -> Iterator[list[tuple[str, Any]]]:
    """Collect (statement, parameters) of all that ``database`` runs meanwhile, in order."""
    seen: list[tuple[str, Any]] = []

    def keep(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        seen.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", keep)
    try:
        yield seen
    finally:
        event.remove(database.engine, "before_cursor_execute", keep)
