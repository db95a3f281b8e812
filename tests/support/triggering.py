"""Triggerers as processes against a web server of the test's, and tasks that are deferred without workers."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.deferring import KEY
from tests.support.served import served

from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_metadata.triggerer_tokens import TriggererTokens
from treadle_triggerer.daemon import Config, Triggerer
from treadle_webserver.app import create_app

TRIGGERS = Path(__file__).parent.parent / "support"


@dataclass(slots=True)
class Site:
    """A web server, and what triggerers need to find it."""

    database: Database
    settings: Settings
    url: str
    token: str

    @contextmanager
    def triggerer(self, *, capacity: int = 1000, blocked_seconds: float = 2.0) -> Iterator[Triggerer]:
        """Run a triggerer while the block runs; its loop is a process."""
        environment = {**os.environ, "PYTHONPATH": str(TRIGGERS.parent.parent)}
        folder = str(self.settings.path("dags_folder"))
        one = Triggerer(Config(self.url, self.token, folder, capacity, environment, blocked_seconds, 0.1))
        thread = threading.Thread(target=one.run, name="triggerer")
        thread.start()
        try:
            yield one
        finally:
            one.stop()
            thread.join()

    def select(self, sql: Any, **parameters: Any) -> list[dict[str, Any]]:
        """Read from the database."""
        with self.database.begin() as connection:
            return [dict(row) for row in rows(connection, sql, parameters)]

    def change(self, sql: Any, **parameters: Any) -> int:
        """Write to the database."""
        with self.database.begin() as connection:
            return execute(connection, sql, parameters)


@contextmanager
def site(database: Database, settings: Settings) -> Iterator[Site]:
    """Serve the Execution API while the block runs."""
    settings = replace(settings, fernet_key=KEY)
    with served(create_app(settings, database, clock=SystemClock())) as url:
        token = TriggererTokens(settings.jwt_secret).issue(now=datetime.now(UTC))
        yield Site(database, settings, url, token)


def told(path: Path) -> list[dict[str, Any]]:
    """Return what the triggers of ``tests.support.noting`` wrote to a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
