"""Stores parsed files in a thread of its own: what gathers while one batch is written goes into the next.

While the database is away the batch waits and is tried again. A file whose result the database refuses gets an error of
its own; the others of its batch are stored.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from treadle_metadata.catalog import FileError, FileState, Outcome, ParsedFile, store_parsed
from treadle_metadata.clock import Clock
from treadle_metadata.connection import Database, is_passing
from treadle_metadata.settings import Settings, executor_names
from treadle_scheduler.calendar import next_run
from treadle_scheduler.parsing.failures import clean

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 1.0

INTERVAL_SECONDS: Final = 0.1
"""Least time between two transactions while there are files to be parsed; a single edit never waits."""


@dataclass(slots=True)
class Batch:
    """What is to be stored in one transaction; of a file parsed twice, the newer result."""

    files: dict[str, ParsedFile] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    touched: dict[str, FileState] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.files or self.gone or self.touched)


class Storer:
    """Takes results from the daemon's thread; ``on_stored`` is called in the storing thread after each batch."""

    def __init__(
        self, database: Database, clock: Clock, settings: Settings, on_stored: Callable[[Outcome], None]
    ) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._on_stored = on_stored
        self._next = Batch()
        self._stopping = False
        self._hurried = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._store_all, name="storer", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Store what is there, then end. After ``timeout`` seconds the rest is left to the next start."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def add(self, file: ParsedFile, *, last: bool) -> None:
        """Take the result of one file; ``last`` says that no other is to be expected soon."""
        with self._changed:
            self._next.files[file.file] = file
            self._hurried = last
            self._changed.notify_all()

    def news(self, gone: Iterable[str], touched: Mapping[str, FileState]) -> None:
        """Take files that are no more, and files whose time alone has changed."""
        with self._changed:
            for name in gone:
                self._next.files.pop(name, None)
                self._next.gone.add(name)
            self._next.touched |= touched
            self._changed.notify_all()

    def _store_all(self) -> None:
        while True:
            with self._changed:
                while not self._next and not self._stopping:
                    self._changed.wait()
                batch, self._next = self._next, Batch()
                self._hurried = False
            if not batch:
                return
            self._until_stored(batch)
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or self._hurried, INTERVAL_SECONDS)

    def _until_stored(self, batch: Batch) -> None:
        while True:
            try:
                self._on_stored(self._database.run(partial(self._store, batch=batch)))
                return
            except DBAPIError as error:
                if not is_passing(error):
                    self._one_by_one(batch, error)
                    return
                log.warning("the database takes nothing (%s); trying again", error.orig)
                with self._changed:
                    if self._stopping or self._changed.wait_for(lambda: self._stopping, RETRY_SECONDS):
                        return

    def _one_by_one(self, batch: Batch, error: DBAPIError) -> None:
        """Find the file that the database refuses, and store its error in its place."""
        if len(batch.files) <= 1 and not batch.gone and not batch.touched:
            for file in batch.files.values():
                if any("cannot be stored" in one.message for one in file.errors):
                    log.error("%s can be stored in no form", file.file, exc_info=error)
                    return
                text = clean(f"{file.file}: its DAGs cannot be stored: {error.orig}", 2000)
                refused = ParsedFile(file.file, file.state, file.parse_seconds, errors=(FileError(text),))
                self._until_stored(Batch({file.file: refused}))
            return
        if batch.gone or batch.touched:
            self._until_stored(Batch({}, batch.gone, batch.touched))
        for file in batch.files.values():
            self._until_stored(Batch({file.file: file}))

    def _store(self, connection: Connection, batch: Batch) -> Outcome:
        now = self._clock.now()
        return store_parsed(
            connection,
            list(batch.files.values()),
            now=now,
            plan=lambda document, last: next_run(document, last=last, now=now, cron_style=self._settings.cron_style),
            paused_by_default=self._settings.dags_are_paused_at_creation,
            executors=executor_names(self._settings),
            gone=batch.gone,
            touched=batch.touched,
        )
