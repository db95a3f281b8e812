"""Renews the leases of attempts that wait for a worker, in a broker, a cluster or a table: nobody else could.

Called by the executors whose workers are elsewhere, for whatever they see waiting. Once a worker has started an attempt
the lease is its own, so a scheduler that dies here takes nothing with it but what waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.clock import Clock
from treadle_metadata.connection import Database
from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.settings import Settings
from treadle_metadata.transitions import attempts, callbacks


class QueuedLeases(Protocol):
    """Renews leases of attempts that no worker has started."""

    def keep(self, of_tasks: Sequence[AttemptRef], of_callbacks: Sequence[AttemptRef]) -> set[UUID]:
        """Renew them; return those that are still queued."""


class DatabaseLeases:
    """Renews them in the database."""

    def __init__(self, database: Database, settings: Settings, clock: Clock) -> None:
        self._database = database
        self._lease = timedelta(seconds=settings.lease_seconds)
        self._clock = clock

    def keep(self, of_tasks: Sequence[AttemptRef], of_callbacks: Sequence[AttemptRef]) -> set[UUID]:
        """Renew them in one transaction."""
        until = self._clock.now() + self._lease

        def act(connection: Connection) -> set[UUID]:
            kept = attempts.keep_queued(connection, of_tasks, lease_until=until)
            if of_callbacks:
                ids = [one.attempt_id for one in of_callbacks]
                kept |= callbacks.keep_queued(connection, ids, lease_until=until)
            return kept

        return self._database.run(act)
