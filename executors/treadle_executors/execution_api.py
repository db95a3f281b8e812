"""What an executor that lives beside the database does with the reports and questions of its runner host.

:class:`ExecutionApi` is the seam: the local executor is given :class:`DatabaseExecution`, its tests an implementation
in memory, and a remote worker's host will speak the same over HTTP. One batch is one transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar, cast

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from treadle_metadata import execution
from treadle_metadata.clock import Clock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.crypto import Crypto
from treadle_metadata.settings import Settings
from treadle_worker.protocol import FinishReport, Heartbeat, Request, StartAnswer, StartReport

T = TypeVar("T")


class ExecutionUnavailable(Exception):
    """The server cannot be reached just now; the same call may succeed later."""


@dataclass(slots=True)
class Batch:
    """Reports that are recorded together."""

    starts: list[StartReport] = field(default_factory=list)
    finishes: list[FinishReport] = field(default_factory=list)
    heartbeats: list[Heartbeat] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.starts) + len(self.finishes) + len(self.heartbeats)

    def split(self) -> list[Batch]:
        """Return the batch as batches of one report each, in the order in which they are to be recorded."""
        return [
            *(Batch(starts=[one]) for one in self.starts),
            *(Batch(finishes=[one]) for one in self.finishes),
            *(Batch(heartbeats=[one]) for one in self.heartbeats),
        ]


@dataclass(slots=True)
class Answers:
    """What the server says to a batch."""

    starts: list[StartAnswer] = field(default_factory=list)
    accepted: set[str] = field(default_factory=set)
    """Ids of the finishes that changed something."""
    ours: set[str] = field(default_factory=set)
    """Ids of the heartbeats whose attempt is still ours."""
    unsure: set[str] = field(default_factory=set)
    """Those of ``ours`` of which that is not known, so that their leases were not renewed."""


class ExecutionApi(Protocol):
    """Records reports and answers questions. Raises ExecutionUnavailable when trying again later makes sense."""

    def record(self, batch: Batch) -> Answers:
        """Record a batch in one transaction: starts, then finishes, then heartbeats."""

    def answer(self, request: Request) -> Any:
        """Return the result of a question of a task; raises with one sentence when it is refused."""


class DatabaseExecution:
    """The Execution API on the metadata database, in this process."""

    def __init__(self, database: Database, settings: Settings, clock: Clock | None = None) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock or SystemClock()
        self._lease = timedelta(seconds=settings.lease_seconds)
        self._crypto: Crypto | None = None

    def record(self, batch: Batch) -> Answers:
        """Record a batch in one transaction."""
        return self._run(lambda connection: self._record(connection, batch, self._clock.now()))

    def _record(self, connection: Connection, batch: Batch, now: datetime) -> Answers:
        answers = Answers()
        if batch.starts:
            found = execution.record_starts(connection, batch.starts, now=now, lease_until=now + self._lease)
            answers.starts = [cast("StartAnswer", one) for one in found]
        if batch.finishes:
            answers.accepted = execution.record_finishes(connection, batch.finishes, now=now)
        if batch.heartbeats:
            answers.ours = execution.record_heartbeats(connection, batch.heartbeats, lease_until=now + self._lease)
        return answers

    def answer(self, request: Request) -> Any:
        """Answer a question on a connection of its own, so that it does not wait behind finishes."""
        if self._crypto is None:
            self._crypto = Crypto.of_setting(self._settings.fernet_key)
        crypto, now = self._crypto, self._clock.now()
        return self._run(lambda connection: execution.answer_request(connection, request, crypto=crypto, now=now))

    def _run(self, act: Callable[[Connection], T]) -> T:
        try:
            return self._database.run(act)
        except (OperationalError, InterfaceError, PoolTimeoutError) as error:
            raise ExecutionUnavailable(str(getattr(error, "orig", None) or error)) from error
        except DBAPIError as error:
            if error.connection_invalidated:
                raise ExecutionUnavailable(str(error.orig)) from error
            raise
