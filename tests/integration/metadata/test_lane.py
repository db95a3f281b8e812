"""Statements that go straight to libpq: the same answers and errors as a cursor's, in the same transactions."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError, ProgrammingError
from tests.support.scheduling import a_dag, install

from treadle.document import TaskDocument
from treadle_metadata.connection import Database, is_passing
from treadle_metadata.lane import Lane
from treadle_metadata.rights.scoped_views import Scope
from treadle_metadata.statements import execute, rows, tuples, tuples_of_each
from treadle_webserver.scoped import ScopedDatabase


@pytest.fixture(params=["plan_once", "in_threads"])
def prepared(own_database: Database, request: pytest.FixtureRequest) -> Iterator[Database]:
    """A database whose connections prepare everything, as a daemon's do."""
    chosen: Any = {request.param: True}
    database = Database(own_database.url, pool_size=1, **chosen)
    yield database
    database.close()


VALUES: dict[str, Any] = {
    "int": 3_000_000_000,
    "text": 'quote " and \\ and é',
    "none": None,
    "moment": datetime(2026, 1, 2, 3, 4, 5, 6, UTC),
    "day": date(2026, 1, 2),
    "id": uuid4(),
    "ints": [1, 70_000, 3_000_000_000],
    "texts": ["a", None, 'b,"c"', ""],
    "no": [],
    "yes": True,
}
TYPES = ("bigint", "text", "text", "timestamptz", "date", "uuid", "bigint[]", "text[]", "text[]", "bool")


def test_values_come_back_as_from_a_cursor(prepared: Database, own_database: Database) -> None:
    columns = ", ".join(f"%({name})s::{kind} AS {name}" for name, kind in zip(VALUES, TYPES, strict=True))
    sql = f"SELECT {columns}, '100%%' AS literal"
    with prepared.begin() as connection, own_database.begin() as other:
        assert rows(connection, sql, VALUES) == rows(other, sql, VALUES) == [VALUES | {"literal": "100%"}]
        assert rows(connection, sql, VALUES | {"int": 1, "ints": [2]})[0]["ints"] == [2]


def test_what_was_done_is_committed_or_rolled_back_as_a_whole(prepared: Database) -> None:
    sql = "INSERT INTO slot_pool (name, slots) VALUES (%(name)s, 1)"

    def insert(connection: Any) -> None:
        for name in ("lost", "kept"):
            execute(connection, sql, {"name": name})

    with prepared.begin() as connection:
        assert execute(connection, sql, {"name": "kept"}) == 1
    with pytest.raises(IntegrityError):
        prepared.run(insert)
    with prepared.begin() as connection:
        found = tuples(connection, "SELECT name FROM slot_pool WHERE slots = %(slots)s", {"slots": 1})
    assert found == [("kept",)]


def test_statements_sent_together_see_each_others_effect_and_stop_at_the_first_that_fails(prepared: Database) -> None:
    insert = ("INSERT INTO slot_pool (name, slots) VALUES (%(name)s, 1) RETURNING name", {"name": "one"})
    count = ("SELECT count(*) FROM slot_pool WHERE name = %(name)s", {"name": "one"})
    with prepared.begin() as connection:
        assert tuples_of_each(connection, count, insert, count) == [[(0,)], [("one",)], [(1,)]]
    with pytest.raises(IntegrityError), prepared.begin() as connection:
        tuples_of_each(connection, count, insert, ("DELETE FROM slot_pool", {}))
    with prepared.begin() as connection:
        assert tuples(connection, *count) == [(1,)]


def test_a_savepoint_that_is_rolled_back_forgets_nothing_that_is_prepared(prepared: Database) -> None:
    sql = "SELECT 6 / %(by)s::int"
    with prepared.begin() as connection:
        assert tuples(connection, sql, {"by": 2}) == [(3,)]
        with pytest.raises(DBAPIError, match="division by zero"), connection.begin_nested():
            tuples(connection, sql, {"by": 0})
        assert tuples(connection, sql, {"by": 3}) == [(2,)]


def test_a_session_that_lost_what_it_had_prepared_prepares_it_again(prepared: Database) -> None:
    def ask(connection: Any) -> list[Any]:
        return list(tuples(connection, "SELECT %(x)s::int", {"x": 1}))

    assert prepared.run(ask) == [(1,)]
    with prepared.begin() as connection:
        connection.exec_driver_sql("DEALLOCATE ALL")
    assert prepared.run(ask) == [(1,)]


def test_a_table_that_got_another_column_meanwhile_is_read_as_it_is_now(
    prepared: Database, own_database: Database
) -> None:
    def ask(connection: Any) -> list[Any]:
        return [sorted(row) for row in rows(connection, "SELECT * FROM growing")]

    with own_database.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE growing AS SELECT 1 AS one")
    assert prepared.run(ask) == [["one"]]
    with own_database.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE growing ADD two int")
    assert prepared.run(ask) == [["one", "two"]]


def test_what_is_prepared_for_those_who_may_see_everything_shows_others_their_own(prepared: Database) -> None:
    def names(database: Database) -> list[str]:
        with database.begin() as connection:
            return [row["dag_id"] for row in rows(connection, "SELECT dag.* FROM dag ORDER BY dag_id")]

    with prepared.begin() as connection:
        for dag_id in ("ours", "theirs"):
            install(connection, a_dag(dag_id, TaskDocument("t")), now=datetime(2026, 1, 2, tzinfo=UTC))
    scopes = [Scope(frozenset(), frozenset(dags), frozenset()) for dags in (("ours",), ("theirs",), ())]
    for _ in range(7):  # PostgreSQL plans some for what is asked, and then once for all
        assert names(prepared) == ["ours", "theirs"]
        assert [names(ScopedDatabase(prepared, scope)) for scope in scopes] == [["ours"], ["theirs"], []]


def test_only_so_many_statements_stay_prepared(own_database: Database) -> None:
    with closing(own_database.listen(())) as driver:
        lane = Lane(driver, kept=3, in_threads=True)
        for number in (*range(7), 0):
            assert lane.run([(f"SELECT {number} + %(x)s::int", {"x": 1})])[0].fetchall() == [(number + 1,)]
            # Those that are sent together are prepared together, whatever that makes them.
            both = lane.run([("SELECT %(x)s::int", {"x": 1}), ("SELECT %(x)s::text", {"x": "a"})])
            assert [one.fetchall() for one in both] == [[(1,)], [("a",)]]
            assert driver.execute("SELECT count(*) <= 4 FROM pg_prepared_statements", prepare=False).fetchone() == (
                True,
            )


def test_a_lost_connection_is_replaced(prepared: Database, own_database: Database) -> None:
    def pid(connection: Any) -> int:
        return int(tuples(connection, "SELECT pg_backend_pid()")[0][0])

    lost = prepared.run(pid)
    with own_database.begin() as connection:
        execute(connection, "SELECT pg_terminate_backend(%(pid)s, 5000)", {"pid": lost})
    with pytest.raises(DBAPIError) as error:
        prepared.run(pid)
    assert error.value.connection_invalidated
    assert prepared.run(pid) != lost


def test_a_connection_that_is_lost_as_a_statement_is_prepared_is_a_passing_fault(prepared: Database) -> None:
    """As by kill -9 of its backend. Whoever reports says it again then: found by ``bench exactly_once``."""

    def ask(connection: Any) -> None:
        number = connection.connection.driver_connection.fileno()
        with socket.socket(fileno=os.dup(number)) as ours:
            ours.shutdown(socket.SHUT_RDWR)
        tuples(connection, "SELECT 1 AS never_prepared_before")

    with pytest.raises(DBAPIError) as error:
        prepared.run(ask)
    assert is_passing(error.value)


def test_a_percent_sign_that_is_not_doubled_is_refused(prepared: Database) -> None:
    with pytest.raises(ProgrammingError, match="must be doubled"), prepared.begin() as connection:
        tuples(connection, "SELECT 5 % 2")
