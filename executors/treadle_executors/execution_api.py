"""What an executor that lives beside the database does with the reports and questions of its runner host.

:class:`ExecutionApi` is the seam: the local executor is given :class:`DatabaseExecution`, its tests an implementation
in memory, and a remote worker's host will speak the same over HTTP. One batch is one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Protocol, TypeVar, cast, runtime_checkable

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from treadle_executors.batches import Answers, Batch, ExecutionUnavailable
from treadle_metadata import deferrals, execution, steps
from treadle_metadata.clock import Clock, SystemClock
from treadle_metadata.connection import TASKS, WAKE, Database, is_passing, notification
from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import MetadataError
from treadle_metadata.settings import Settings
from treadle_worker.protocol import FinishReport, Request, StartAnswer, StartReport

__all__ = ["Answers", "Batch", "DatabaseExecution", "ExecutionApi", "ExecutionUnavailable"]

T = TypeVar("T")

TOGETHER: Final = frozenset({"open_journal", "get_connection", "get_variable", "get_xcoms", "get_previous_success"})
"""Questions that lock nothing that others wait for, so that one transaction may answer many of them."""


class ExecutionApi(Protocol):
    """Records reports and answers questions. Raises ExecutionUnavailable when trying again later makes sense."""

    def record(self, batch: Batch) -> Answers:
        """Record a batch in one transaction: starts, then finishes, then heartbeats."""

    def answer(self, request: Request) -> Any:
        """Return the result of a question of a task; raises with one sentence when it is refused."""


@runtime_checkable
class AnswersTogether(Protocol):
    """An Execution API that answers several questions at the cost of one."""

    def answer_together(self, requests: Sequence[Request]) -> list[Any]:
        """Return the results of questions of the kinds ``TOGETHER``; raises if one of them is refused."""


class DatabaseExecution:
    """The Execution API on the metadata database, in this process.

    With ``notifies`` it tells schedulers of attempts that ended; beside a scheduler the executor itself does.
    """

    def __init__(
        self, database: Database, settings: Settings, clock: Clock | None = None, *, notifies: bool = False
    ) -> None:
        self._notifies = notifies
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
            lease_until, crypto = now + self._lease, self._keys_for(batch.starts)
            found = execution.record_starts(connection, batch.starts, now=now, lease_until=lease_until, crypto=crypto)
            answers.starts = [cast("StartAnswer", one) for one in found]
        if batch.finishes:
            finishes = batch.finishes
            if any("deferral" in report for report in finishes):
                finishes = cast("list[FinishReport]", deferrals.sealed(finishes, self._keys()))
            told = [notification(WAKE, TASKS)] if self._notifies else []
            answers.accepted = execution.record_finishes(connection, finishes, now=now, further=told)
        if batch.heartbeats:
            answers.ours = execution.record_heartbeats(connection, batch.heartbeats, lease_until=now + self._lease)
        return answers

    def _keys_for(self, starts: Sequence[StartReport]) -> Crypto | None:
        """Return what decrypts connections, if a start asks for one; a start is not refused for a key that is missing.

        Its task asks then, and is told.
        """
        if not any("transaction" in one for one in starts):
            return None
        try:
            return self._keys()
        except MetadataError:
            return None

    def answer(self, request: Request) -> Any:
        """Answer a question on a connection of its own, so that it does not wait behind finishes."""
        crypto, now = self._keys(), self._clock.now()
        # A task waits for each step to be recorded, so that costs one round trip.
        run = self._database.run_each if request["op"] == "record_step" else self._database.run
        return self._guarded(
            lambda: run(lambda connection: execution.answer_request(connection, request, crypto=crypto, now=now))
        )

    def answer_together(self, requests: Sequence[Request]) -> list[Any]:
        """Answer questions in one transaction; raises as ``answer`` does, for all of them, if one is refused."""
        return self._run(lambda connection: self._answers(connection, requests, self._keys(), self._clock.now()))

    @staticmethod
    def _answers(connection: Connection, requests: Sequence[Request], crypto: Crypto, now: datetime) -> list[Any]:
        opening = [one for one in requests if one["op"] == "open_journal"]
        opened = iter(steps.open_all(connection, opening, crypto=crypto, now=now))
        return [
            next(opened)
            if one["op"] == "open_journal"
            else execution.answer_request(connection, one, crypto=crypto, now=now)
            for one in requests
        ]

    def _keys(self) -> Crypto:
        if self._crypto is None:
            self._crypto = Crypto.of_setting(self._settings.fernet_key)
        return self._crypto

    def _run(self, act: Callable[[Connection], T]) -> T:
        return self._guarded(lambda: self._database.run(act))

    @staticmethod
    def _guarded(act: Callable[[], T]) -> T:
        try:
            return act()
        except (DBAPIError, PoolTimeoutError) as error:
            if is_passing(error):
                raise ExecutionUnavailable(str(getattr(error, "orig", None) or error)) from error
            raise
