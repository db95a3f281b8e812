"""Tells waiting triggerers at once that there is something to take or to cancel, so that they need not ask again.

One thread of the web server listens to the database, from the first triggerer's call on. A connection that breaks is
made again; what was missed meanwhile is seen when a triggerer's wait is over, which is never long.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Final

import psycopg

from treadle_metadata.connection import Database
from treadle_metadata.transitions.deferred import TRIGGERS
from treadle_metadata.triggerer_tokens import TriggererTokens

_PAUSE_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.5

log = logging.getLogger(__name__)


class TriggerCalls:
    """Counts the calls, and lets handlers wait for the next one. With ``tokens`` triggerers prove themselves."""

    def __init__(self, database: Database, tokens: TriggererTokens) -> None:
        self._database = database
        self.tokens = tokens
        self._lock = threading.Lock()
        self._waiting: dict[asyncio.Future[None], asyncio.AbstractEventLoop] = {}
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self.count = 0

    async def wait(self, seen: int, seconds: float) -> None:
        """Return as soon as there are more calls than were ``seen``, after ``seconds`` at the latest."""
        self._listen()
        loop = asyncio.get_running_loop()
        called: asyncio.Future[None] = loop.create_future()
        with self._lock:
            if self.count != seen:
                return
            self._waiting[called] = loop
        try:
            await asyncio.wait([called], timeout=seconds)
        finally:
            with self._lock:
                self._waiting.pop(called, None)

    def end(self) -> None:
        """Stop listening."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def call(self) -> None:
        """Let all go on that wait."""
        with self._lock:
            self.count += 1
            waiting, self._waiting = self._waiting, {}
        for called, loop in waiting.items():
            loop.call_soon_threadsafe(_settle, called)

    def _listen(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="trigger-calls", daemon=True)
                self._thread.start()

    def _serve(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._database.listen((TRIGGERS,)) as connection:
                    self.call()
                    self._hear(connection)
            except psycopg.Error as error:
                log.warning("triggerers are not called, only answered: %s", error)
                self._stopping.wait(_PAUSE_SECONDS)

    def _hear(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        while not self._stopping.is_set():
            for _ in connection.notifies(timeout=_LOOK_SECONDS, stop_after=1):
                self.call()


def _settle(called: asyncio.Future[None]) -> None:
    if not called.done():
        called.set_result(None)
