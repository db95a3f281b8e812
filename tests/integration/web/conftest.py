"""Fixtures of the web tests: the application over the test database, a client for each role, and a DAG with a run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from fastapi import FastAPI
from tests.support.scheduling import install
from tests.support.web import LOGS_DAG, PASSWORD, Client, add_instances, client_of, session_of
from tests.support.web_database import web_database

from treadle_metadata import accounts
from treadle_metadata.accounts import Role
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.runs import trigger_run
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute
from treadle_webserver.app import create_app

__all__ = ["web_database"]
"""What is a fixture here without being made here."""


@cache
def _hash_of_password() -> str:
    return accounts._HASHER.hash(PASSWORD)


def add_account(database: Database, role: Role, clock: ManualClock) -> str:
    """Store an account of ``role``, named like it, with the tests' password; hashed once, since hashing is slow."""
    with database.begin() as connection:
        execute(
            connection,
            """
            INSERT INTO account (username, password_hash, role, created_at)
            VALUES (%(username)s, %(hash)s, %(role)s, %(now)s)
            """,
            {"username": role.lower(), "hash": _hash_of_password(), "role": role.value, "now": clock.now()},
        )
    return role.lower()


@pytest.fixture
def app(settings: Settings, database: Database, clock: ManualClock) -> FastAPI:
    """The application."""
    return create_app(settings, database, clock=clock)


@pytest.fixture
def anyone(app: FastAPI) -> Iterator[Client]:
    """A client without a token."""
    with client_of(app) as client:
        yield client


@pytest.fixture
def admin(app: FastAPI, anyone: Client, database: Database, clock: ManualClock) -> Client:
    """A client that is logged in as an Admin."""
    username = add_account(database, Role.ADMIN, clock)
    anyone.token = session_of(database, username, clock)
    return anyone


@pytest.fixture
def weather(database: Database, clock: ManualClock) -> str:
    """DAG ``weather`` with one run ``first``, whose task ``clean`` is mapped three-fold."""
    with database.begin() as connection:
        install(connection, LOGS_DAG, now=clock.now(), tags=["daily", "demo"], owners=["ann"])
        trigger_run(connection, "weather", run_id="first", now=clock.now())
        add_instances(connection, "weather", "first", {"fetch": 0, "clean": 3}, now=clock.now())
    return "/api/v2/dags/weather"
