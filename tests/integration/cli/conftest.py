"""A command line on the test's own database and home, and a scheduler at the present moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime

import pytest
from bench.instant import Outcome, success
from tests.support.command_line import CommandLine
from tests.support.scheduling import TestScheduler

from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_scheduler.waking import Scope

Running = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def line(settings: Settings) -> CommandLine:
    """Commands that read these settings from their environment."""
    return CommandLine(
        {
            "TREADLE_HOME": str(settings.home),
            "TREADLE_DATABASE_URL": settings.database_url,
            "TREADLE_FERNET_KEY": settings.fernet_key,
        }
    )


@pytest.fixture
def scheduler(database: Database, settings: Settings) -> TestScheduler:
    """A scheduler whose attempts succeed at once."""
    return TestScheduler(database, settings, ManualClock(datetime.now(UTC)))


@pytest.fixture
def running(database: Database, settings: Settings) -> Running:
    """Return a context in which a scheduler works in a thread, whose attempts end as ``outcome`` says."""

    @contextmanager
    def context(outcome: Outcome = success) -> Iterator[None]:
        ended = threading.Event()
        beating = TestScheduler(database, settings, ManualClock(datetime.now(UTC)), outcome)

        def work() -> None:
            while not ended.wait(0.01):
                beating.clock.set(datetime.now(UTC))
                beating.loop.wake(Scope.EVERYTHING)
                beating.loop.beat()

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    return context
