"""The fixtures of all tests: a real PostgreSQL (``tests.support.databases``), a clock that stands still, a home."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support import databases
from tests.support.units import Units

from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings

FERNET_KEY = "dHJlYWRsZS10ZXN0cy1vbmx5LWtleS0zMi1ieXRlcyE="
JWT_SECRET = "for tests only: a key of more than 32 characters"

_SERVER_OF_WORKERS: pytest.StashKey[ExitStack] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """With pytest-xdist, start one server for all workers."""
    is_worker = hasattr(config, "workerinput")
    if is_worker or not config.getoption("numprocesses", None) or databases.URL_VARIABLE in os.environ:
        return
    stack = ExitStack()
    os.environ[databases.URL_VARIABLE] = stack.enter_context(databases.server())
    stack.callback(os.environ.pop, databases.URL_VARIABLE, None)
    config.stash[_SERVER_OF_WORKERS] = stack


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the workers' server."""
    if _SERVER_OF_WORKERS in config.stash:
        config.stash[_SERVER_OF_WORKERS].close()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Units | None:
    """Share the tests out in our way, unless the command line names another."""
    return Units(config, log) if config.getoption("dist") == "load" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the collector rest while modules are imported, and spare it for good what is there then."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the settings of whoever runs the tests out of them."""
    for name in [name for name in os.environ if name.startswith("TREADLE_")]:
        if name != databases.URL_VARIABLE:
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """The maintenance database of the session's server."""
    with databases.server() as url:
        yield url


@pytest.fixture(scope="session")
def _shared_database(server_url: str) -> Iterator[Database]:
    with databases.clone(server_url) as url:
        database = Database(url, plan_once=True)
        yield database
        database.close()


@pytest.fixture(scope="session")
def _web_database(_shared_database: Database) -> Iterator[Database]:
    """The same database, as the web server opens it (``tests.support.web_database``)."""
    database = Database(_shared_database.url, in_threads=True)
    yield database
    database.close()


@pytest.fixture
def database(_shared_database: Database) -> Iterator[Database]:
    """A migrated, empty database; whatever the test commits is deleted after it."""
    yield _shared_database
    # First: what a test forgot to end must not hold locks.
    databases.keep_if_clean(_shared_database)
    databases.delete_all_rows(_shared_database.url)


@pytest.fixture
def own_database(server_url: str) -> Iterator[Database]:
    """A database of the test's own (0.1 s), for tests that kill processes or change the schema."""
    with databases.clone(server_url) as url:
        database = Database(url)
        yield database
        database.close()


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands at 2026-01-15 12:00 UTC, a Thursday, until the test moves it."""
    return ManualClock(databases.CLOCK_START)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty ``TREADLE_HOME`` with a dags folder."""
    (tmp_path / "home" / "dags").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def settings(home: Path, database: Database) -> Settings:
    """Settings with ``home`` and ``database``, that keep the history of state moves."""
    return Settings(
        home=home, database_url=database.url, fernet_key=FERNET_KEY, jwt_secret=JWT_SECRET, record_transitions=True
    )
