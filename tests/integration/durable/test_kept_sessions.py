"""Sessions of transactional tasks: one process's attempts share one, and none finds what another left in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from treadle.connections import Connection
from treadle.durable import targets
from treadle.runtime import current
from treadle_metadata.connection import Database

PID = "SELECT pg_backend_pid()"


@pytest.fixture
def named(database: Database) -> Iterator[Connection]:
    parts = urlsplit(database.url)
    host = parse_qs(parts.query).get("host", [parts.hostname])[0]
    found = Connection(
        "target",
        conn_type="postgres",
        host=host,
        schema=parts.path.lstrip("/"),
        login=parts.username,
        password=parts.password,
        port=parts.port or int(parse_qs(parts.query).get("port", ["5432"])[0]),
    )
    current.let_others_follow(whether=True)
    yield found
    current.let_others_follow(whether=False)
    with targets.opened(found):
        pass  # the last one closes it


def ask(named: Connection, *statements: str) -> Any:
    """Run statements as an attempt would; return the first value of the last."""
    with targets.opened(named) as target:
        *before, last = statements
        for one in before:
            target.database.execute(one.encode())
        return target.database.execute(last.encode()).fetchone()[0]


def test_the_next_attempt_of_a_process_gets_the_session_without_what_was_left_in_it(named: Connection) -> None:
    first = ask(
        named,
        "CREATE TEMP TABLE mine (x int)",
        "SET statement_timeout = '7s'",
        "SELECT pg_advisory_lock(7)",
        PID,
    )
    assert ask(named, PID) == first
    assert ask(named, "SELECT to_regclass('mine')::text") is None
    assert ask(named, "SHOW statement_timeout") == "0"
    assert ask(named, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()") == 0


def test_what_is_run_often_stays_prepared_from_one_attempt_to_the_next(named: Connection) -> None:
    for _ in range(20):
        assert ask(named, "SELECT 1") == 1
    with targets.opened(named) as target:
        for number in range(20):
            assert target.database.execute("SELECT %s::int", (number,)).fetchone() == (number,)
    with targets.opened(named) as target:
        assert target.database.execute("SELECT %s::int", (1,)).fetchone() == (1,)


@pytest.mark.parametrize("left", ["PREPARE mine AS SELECT 1", "SELECT pg_terminate_backend(%s, 5000)"])
def test_a_session_that_cannot_be_cleared_is_replaced(named: Connection, database: Database, left: str) -> None:
    first = ask(named, PID)
    if left.startswith("PREPARE"):
        with targets.opened(named) as target:
            target.database.execute(left.encode())
    else:
        with psycopg.connect(database.url.replace("postgresql+psycopg", "postgresql")) as other:
            other.execute(left.encode(), (first,))
    assert ask(named, PID) != first


def test_a_session_in_which_a_task_failed_is_not_kept(named: Connection) -> None:
    first = ask(named, PID)
    with pytest.raises(ZeroDivisionError), targets.opened(named):
        _ = 1 / 0
    assert ask(named, PID) != first


def test_the_only_attempt_of_a_process_leaves_no_session(named: Connection) -> None:
    current.let_others_follow(whether=False)
    assert ask(named, PID) != ask(named, PID)


def test_of_two_attempts_under_one_key_one_commits_though_the_first_took_the_key_for_new(named: Connection) -> None:
    """The first stalls before its end, is taken for lost, and goes on when the next has committed."""
    kept: dict[str, Any] = {"value": "1", "xcoms": [], "asset_events": []}
    current.let_others_follow(whether=False)
    with targets.opened(named) as first, targets.opened(named) as second:
        try:
            stalled = first.inbox("key", "task", is_new=True)
            later = second.inbox("key", "task", is_new=False)
            first.database.execute("BEGIN")
            assert stalled.begin() is None
            with second.database.transaction():
                assert later.begin() is None
                later.end(kept, [])
            with pytest.raises(psycopg.errors.UniqueViolation):
                stalled.end({**kept, "value": "2"}, [])
            first.database.execute("ROLLBACK")
            found = second.database.execute("SELECT result::json->>'value' FROM treadle_inbox").fetchall()
            assert found == [("1",)]
            with second.database.transaction():
                assert second.inbox("key", "task", is_new=False).begin() == {**kept, "steps": []}
        finally:
            second.database.execute("DROP TABLE treadle_inbox")
