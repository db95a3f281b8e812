"""Locks the runs that a person's act is about: all of them before the first instance, in the order of their ids.

Called by those that plan before they act (``clearing``, ``marking``, ``backfills``), at the beginning of a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from sqlalchemy import Connection

from treadle_metadata.selecting import locked_runs

Planned = TypeVar("Planned")


def hold_runs(
    connection: Connection,
    planned: Planned,
    plan_again: Callable[[], Planned],
    runs_of: Callable[[Planned], Collection[int]],
) -> Planned:
    """Return a plan made while all of its runs are locked; they are until the transaction ends.

    What changed until they were held may have added runs. To lock those after the others would be out of order, so all
    are let go and locked anew together: who rolls back to a savepoint loses the locks taken since.
    """
    wanted = set(runs_of(planned))
    while True:
        savepoint = connection.begin_nested()
        locked_runs(connection, wanted)
        planned = plan_again()
        more = set(runs_of(planned)) - wanted
        if not more:
            savepoint.commit()
            return planned
        savepoint.rollback()
        wanted |= more
