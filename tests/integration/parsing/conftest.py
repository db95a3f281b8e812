"""The dags folder of a test, and a processor on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.support.parsing import Parsed, running

from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings


@pytest.fixture
def parsed(database: Database, settings: Settings) -> Parsed:
    """The dags folder and the database, with no processor yet."""
    return Parsed(database, replace(settings, record_transitions=False))


@pytest.fixture
def live(parsed: Parsed) -> Iterator[Parsed]:
    """The same with a processor that runs for the length of the test."""
    with running(parsed):
        yield parsed
