"""Hears what changed, for all streams of this process over one connection, and tells it at once and then at a pace.

A thread of its own waits for notifications, looks the runs up, and wakes the streams in the event loop. It begins with
the first stream. When its connection breaks it makes another, and since it may have missed something, all streams are
told to look again.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from contextlib import closing, suppress
from typing import Final

import psycopg
from sqlalchemy.exc import SQLAlchemyError

from treadle_metadata.connection import Database
from treadle_metadata.queries.ui.run_pages import runs_by_id
from treadle_webserver.live.changes import CHANNEL, Changes, read
from treadle_webserver.live.ring import ChangedRun, Ring
from treadle_webserver.live.streams import HEARTBEAT_SECONDS

PACE_SECONDS: Final = 0.05
"""Least time between two messages; the first after a rest is told at once."""
PACE_OF_STREAM: Final = 0.0002
"""What one stream more adds to it: to write to a thousand of them takes a while."""
_LOOK_SECONDS: Final = 0.5
_RETRY_SECONDS: Final = 1.0
_MOST_RUNS: Final = 500
"""Runs that one message names; of more only their DAGs are named."""

log = logging.getLogger(__name__)


class Hub:
    """What all streams of a process share. Its ring is touched in the event loop only."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.ring = Ring(secrets.token_hex(4))
        self.rights_changed = 0
        """Counts changes of rights: a stream that finds another number asks again what it may see."""
        self.is_closed = False
        self.streams = 0
        self._changed = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = threading.Event()
        self._hears = threading.Event()
        self._thread: threading.Thread | None = None

    def join(self) -> None:
        """A stream begins; called in the event loop, as ``leave`` is."""
        self.streams += 1
        if self._thread is None:
            self._loop = asyncio.get_running_loop()
            self._loop.call_later(HEARTBEAT_SECONDS, self._beat)
            self._thread = threading.Thread(target=self._hear, name="live", daemon=True)
            self._thread.start()

    def leave(self) -> None:
        """A stream has ended."""
        self.streams -= 1

    def close(self) -> None:
        """End all streams and stop hearing: the server stops."""
        self.is_closed = True
        self._stopping.set()
        self._wake()

    async def changed(self, number: int, seconds: float | None = None) -> bool:
        """Wait until something is told after ``number``; return False when it is time for a sign of life instead.

        That time comes for all streams together, and after ``seconds`` for whoever gives them.
        """
        if self.ring.newest == number and not self.is_closed:
            with suppress(TimeoutError):
                if seconds is None:
                    await self._changed.wait()
                else:
                    async with asyncio.timeout(seconds):
                        await self._changed.wait()
        return self.ring.newest != number

    def wait_until_it_hears(self, seconds: float) -> bool:
        """Wait until changes are heard of; for tests and benchmarks."""
        return self._hears.wait(seconds)

    def _beat(self) -> None:
        """Wake all streams from time to time: one timer for all of them."""
        if self._loop is not None and not self.is_closed:
            self._loop.call_later(HEARTBEAT_SECONDS, self._beat)
            self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _hear(self) -> None:
        while not self._stopping.is_set():
            try:
                with closing(self._database.listen([CHANNEL])) as connection:
                    self._in_loop(self._missed)
                    self._hears.set()
                    self._listen(connection)
            except (psycopg.Error, SQLAlchemyError) as error:
                log.warning("live events: the database did not answer: %s", error)
                self._stopping.wait(_RETRY_SECONDS)

    def _listen(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        while not self._stopping.is_set():
            payloads = [one.payload for one in connection.notifies(timeout=_LOOK_SECONDS, stop_after=1)]
            if not payloads:
                continue
            began = time.monotonic()
            if self.streams == 0:
                # Nobody listens, so nothing is looked up; who comes back later looks at everything again.
                self._in_loop(self._missed)
            else:
                self._tell(read(payloads))
            pace = PACE_SECONDS + PACE_OF_STREAM * self.streams
            self._stopping.wait(max(0.0, began + pace - time.monotonic()))

    def _tell(self, changes: Changes) -> None:
        runs: tuple[ChangedRun, ...] = ()
        dags = changes.dags
        ids = sorted(changes.runs | changes.tasks)
        if ids:
            with self._database.begin() as connection:
                found = runs_by_id(connection, ids)
            if len(found) > _MOST_RUNS:
                dags = None if dags is None else dags | {row["dag_id"] for row in found}
            else:
                runs = tuple(
                    ChangedRun(row["dag_id"], row["run_id"], row["state"], row["id"] in changes.tasks) for row in found
                )
        told = None if dags is None else frozenset(dags)
        self._in_loop(lambda: self._publish(runs, told, frozenset(changes.kinds), rights=changes.rights))

    def _publish(
        self, runs: tuple[ChangedRun, ...], dags: frozenset[str] | None, kinds: frozenset[str], *, rights: bool
    ) -> None:
        if rights:
            self.rights_changed += 1
        if runs or dags is None or dags or kinds:
            self.ring.add(runs, dags, kinds)
        self._wake()

    def _missed(self) -> None:
        self.ring.skip()
        self.rights_changed += 1
        self._wake()

    def _in_loop(self, act: object) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(act)  # type: ignore[arg-type]
