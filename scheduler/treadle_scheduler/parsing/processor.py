"""The DAG processor's work, as one reads it: list, parse what changed, store, and again when something changes.

One event loop in the main thread; the watcher and the storer are threads that post into it. Nothing here outlives a
crash but what is stored: a processor that starts again lists the folder and parses what differs from ``dag_file``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Final

from treadle_executors.environment import VARIABLES, scrubbed, secrets_of
from treadle_metadata.catalog import Outcome, load_catalog
from treadle_metadata.clock import Clock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_scheduler.parsing.agenda import INPUTS_SECONDS, Agenda
from treadle_scheduler.parsing.config import ParseConfig
from treadle_scheduler.parsing.failures import Limits
from treadle_scheduler.parsing.hearing import Listener
from treadle_scheduler.parsing.job import Job
from treadle_scheduler.parsing.listing import list_files
from treadle_scheduler.parsing.mailbox import Mailbox
from treadle_scheduler.parsing.pool import MOST_PROCESSES, Pool
from treadle_scheduler.parsing.results import parsed_file
from treadle_scheduler.parsing.storer import Storer
from treadle_scheduler.parsing.watching import Watcher
from treadle_worker.event_loop import EventLoop

log = logging.getLogger(__name__)

SECONDS_TO_STORE_AT_END: Final = 3.0


class Processor:
    """One DAG processor. :meth:`run` returns after :meth:`stop`, which any thread or signal handler may call."""

    def __init__(
        self, database: Database, clock: Clock, settings: Settings, environment: Mapping[str, str] = os.environ
    ) -> None:
        self._settings = settings
        self._database = database
        self._folder = str(settings.path("dags_folder"))
        self._config = ParseConfig(
            dags_folder=self._folder,
            timeout_seconds=settings.parse_timeout_seconds,
            memory_mb=settings.parse_memory_mb,
            cron_style=settings.cron_style,
        )
        self._limits = Limits(settings.parse_timeout_seconds, settings.parse_memory_mb, MOST_PROCESSES)
        self._loop = EventLoop()
        self._mailbox = Mailbox(self._loop)
        # First of all: the zygote imports the SDK while we ask the database what is known.
        self._pool = Pool(
            self._loop,
            self._config,
            scrubbed(environment, secrets_of(settings), kept=(VARIABLES,)),
            most=max(1, settings.parsing_processes),
            next_file=self._next_file,
            on_end=self._parsed,
        )
        self._storer = Storer(
            database, clock, settings, lambda outcome: self._mailbox.post(lambda: self._stored(outcome))
        )
        self._watcher = Watcher(self._folder, lambda paths: self._mailbox.post(lambda: self._changed(paths)))
        self._listener = Listener(database, lambda files: self._mailbox.post(lambda: self._heard(files)))
        self._missing = False
        self._looks_again = False

    def run(self) -> None:
        """Process until stopped."""
        try:
            with self._database.begin() as connection:
                catalog = load_catalog(connection)
            self._agenda = Agenda(
                self._folder, catalog, parser=self._config.parser, retry_seconds=self._settings.rescan_seconds
            )
            self._storer.start()
            self._list()
            self._watcher.start()
            self._listener.start()
            self._loop.later(self._settings.rescan_seconds, self._rescan)
            self._loop.run()
        finally:
            self._watcher.stop()
            self._listener.stop()
            self._pool.close()
            self._storer.stop(SECONDS_TO_STORE_AT_END)
            self._mailbox.close()

    def stop(self) -> None:
        """Let :meth:`run` return: running parses are given up, results that are there are stored."""
        self._mailbox.post(self._loop.stop)

    def _rescan(self) -> None:
        self._list()
        self._loop.later(self._settings.rescan_seconds, self._rescan)

    def _changed(self, paths: frozenset[str]) -> None:
        relevant = [path for path in paths if self._agenda.concerns(path)]
        if any(path.endswith(".py") for path in relevant):
            # A module that was missing may be there now.
            self._agenda.retry_failed()
        if relevant or not paths:
            self._list()

    def _heard(self, files: frozenset[str]) -> None:
        self._agenda.pools_changed(self._loop.now())
        self._agenda.read_again(files)
        self._list()

    def _list(self) -> None:
        listing = list_files(self._folder)
        if listing is None:
            if not self._missing:
                log.warning("the dags folder %s cannot be read; its DAGs stay as they are", self._folder)
            self._missing = True
            return
        self._missing = False
        news = self._agenda.listed(listing, self._loop.now())
        if news.gone or news.touched:
            self._storer.news(news.gone, news.touched)
        if news.look_again and not self._looks_again:
            self._looks_again = True
            self._loop.later(INPUTS_SECONDS, self._look_again)
        self._pool.feed()

    def _look_again(self) -> None:
        self._looks_again = False
        self._list()

    def _next_file(self) -> tuple[str, Mapping[str, str]] | None:
        return self._agenda.next_file()

    def _parsed(self, job: Job) -> None:
        now = self._loop.now()
        found = parsed_file(
            job,
            self._folder,
            self._config.parser,
            self._limits,
            dag_files=self._agenda.files,
            seconds=now - job.began,
        )
        for error in found.errors:
            log.warning("%s", error.message)
        failed = bool(found.errors)
        if self._agenda.parsed(job.file, found.state, now, failed=failed, seconds=found.parse_seconds):
            self._storer.add(found, last=not self._pool.busy and not len(self._agenda))

    def _stored(self, outcome: Outcome) -> None:
        due = self._agenda.stored(outcome.digests, outcome.errors, self._loop.now())
        if outcome.new_versions:
            log.info("%d new DAG version%s", outcome.new_versions, "" if outcome.new_versions == 1 else "s")
        if outcome.deactivated:
            log.info("DAGs that are no more: %s", ", ".join(sorted(outcome.deactivated)[:20]))
            # An id that two files claimed may be free now.
            self._agenda.retry_failed()
        if due or outcome.deactivated:
            self._list()
