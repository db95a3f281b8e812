"""A request whose transaction is rolled back by a deadlock is answered all the same: its handler runs again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.web import Client

from treadle_metadata.connection import RETRIES, Database
from treadle_metadata.statements import execute, rows
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes import ROUTERS

POOL = {"name": "gpu", "slots": 4}


@pytest.fixture
def deadlocks(database: Database) -> Iterator[Database]:
    """Make the first inserts into slot_pool fail as deadlocks do, as often as sequence ``failures`` starts below 0.

    A sequence is not rolled back, so it counts failures across the transactions that they end.
    """
    with database.begin() as connection:
        execute(connection, "CREATE SEQUENCE failures MINVALUE -100 START -2")
        execute(
            connection,
            """
            CREATE FUNCTION deadlock() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF nextval('failures') < 0 THEN RAISE EXCEPTION 'as in a deadlock' USING ERRCODE = '40P01'; END IF;
                RETURN NEW;
            END $$
            """,
        )
        execute(
            connection, "CREATE TRIGGER deadlock BEFORE INSERT ON slot_pool FOR EACH ROW EXECUTE FUNCTION deadlock()"
        )
    yield database
    with database.begin() as connection:
        execute(connection, "DROP TRIGGER deadlock ON slot_pool")
        execute(connection, "DROP FUNCTION deadlock")
        execute(connection, "DROP SEQUENCE failures")


def test_a_request_that_meets_deadlocks_is_answered_once_they_are_over(admin: Client, deadlocks: Database) -> None:
    answer = admin.post("/api/v2/pools", json=POOL)
    assert (answer.status_code, answer.json()["name"]) == (201, "gpu")
    with deadlocks.begin() as connection:
        assert len(rows(connection, "SELECT id FROM audit_log WHERE event = 'create_pool'")) == 1


def test_a_request_that_meets_nothing_but_deadlocks_ends_with_try_again(admin: Client, deadlocks: Database) -> None:
    with deadlocks.begin() as connection:
        execute(connection, "ALTER SEQUENCE failures RESTART -100")
    answer = admin.post("/api/v2/pools", json=POOL)
    assert answer.status_code == 503
    with deadlocks.begin() as connection:
        (row,) = rows(connection, "SELECT nextval('failures') + 100 AS failed")
    assert row["failed"] == RETRIES


def test_every_route_runs_again_after_a_deadlock() -> None:
    once = [
        getattr(route, "path", "")
        for router in ROUTERS
        for route in router.routes
        if not isinstance(route, RetriedRoute)
    ]
    # The web pages are files.
    assert once == ["/{address:path}"]
