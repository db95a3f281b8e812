"""Hears, in a thread of its own, that pools were made or changed, and which files somebody wants to have read again.

``on_news`` is called in that thread with those files, also after each (new) connection, since what was said meanwhile
is lost: files that were refused for a pool may be fine now.
"""

from __future__ import annotations

import logging
import os
import select
import threading
from collections.abc import Callable
from typing import Any, Final

import psycopg

from treadle_metadata.connection import PARSE, POOLS, Database

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 1.0


class Listener:
    """Listens on the channels ``POOLS`` and ``PARSE``."""

    def __init__(self, database: Database, on_news: Callable[[frozenset[str]], None]) -> None:
        self._database = database
        self._on_news = on_news
        self._stopping = threading.Event()
        self._read, self._write = os.pipe2(os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._listen, name="listener", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread. One that is still waiting for a connection is left to end with the process."""
        self._stopping.set()
        os.write(self._write, b"\0")
        if self._thread.is_alive():
            self._thread.join(timeout=2.0)
        if not self._thread.is_alive():
            os.close(self._read)
            os.close(self._write)

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._database.listen((POOLS, PARSE)) as connection:
                    self._tell(frozenset())
                    self._hear(connection)
            except psycopg.Error as error:
                if not self._stopping.is_set():
                    log.warning("lost the database connection that listens, connecting again: %s", error)
                    self._stopping.wait(RETRY_SECONDS)

    def _hear(self, connection: psycopg.Connection[Any]) -> None:
        while True:
            select.select([connection.fileno(), self._read], [], [])
            if self._stopping.is_set():
                return
            heard = list(connection.notifies(timeout=0))
            if heard:
                self._tell(frozenset(one.payload for one in heard if one.channel == PARSE))

    def _tell(self, files: frozenset[str]) -> None:
        if not self._stopping.is_set():
            self._on_news(files)
