"""The fixture ``database`` of tests of the web server: the one of ``tests/conftest.py``, opened as that server does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support import databases

from treadle_metadata.connection import Database


@pytest.fixture(name="database")
def web_database(database: Database, _web_database: Database) -> Iterator[Database]:
    """A migrated, empty database; whatever the test commits is deleted after it."""
    yield _web_database
    databases.keep_if_clean(_web_database)
