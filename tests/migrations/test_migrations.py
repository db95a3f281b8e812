"""The migrations: there and back, equal to the tables, quick to check, refused when they do not fit."""

from __future__ import annotations

from datetime import UTC, date, datetime

import psycopg
import pytest
from sqlalchemy import Connection
from tests.support.databases import CLOCK_START

from treadle_metadata import embedded_postgres, migration, partitions
from treadle_metadata.connection import Database
from treadle_metadata.rights import scoped_views
from treadle_metadata.statements import execute, tuples
from treadle_metadata.tables import PARTITIONED


def _tables(connection: Connection) -> set[str]:
    found = tuples(connection, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return {row[0] for row in found}


def test_the_migrated_database_equals_the_tables(own_database: Database) -> None:
    with own_database.begin() as connection:
        assert migration.differences(connection) == []


def test_a_column_that_no_migration_made_is_reported_as_a_difference(own_database: Database) -> None:
    with own_database.begin() as connection:
        scoped_views.remove(connection)
        execute(connection, "ALTER TABLE dag_run DROP COLUMN note")
        execute(connection, "DROP INDEX dag_due_for_run")
        assert {(kind, str(item)) for kind, *_, item in migration.differences(connection)} >= {
            ("add_column", "dag_run.note")
        }


def test_migrations_go_up_down_and_up_again(own_database: Database) -> None:
    migration.roll_back(own_database.url, "base")
    with own_database.begin() as connection:
        assert migration.current(connection) is None
        assert _tables(connection) == {"alembic_version"}
    assert migration.migrate(own_database.url, CLOCK_START) == migration.head()
    with own_database.begin() as connection:
        assert migration.differences(connection) == []
        assert tuples(connection, "SELECT name, slots FROM slot_pool") == [("default_pool", 128)]


def test_migrating_twice_changes_nothing(own_database: Database) -> None:
    with own_database.begin() as connection:
        execute(connection, "UPDATE slot_pool SET slots = 7")
    migration.migrate(own_database.url, CLOCK_START, default_pool_slots=99)
    with own_database.begin() as connection:
        assert tuples(connection, "SELECT slots FROM slot_pool") == [(7,)]


def test_a_daemon_refuses_a_database_without_tables_and_names_the_command(own_database: Database) -> None:
    migration.roll_back(own_database.url, "base")
    with own_database.begin() as connection, pytest.raises(migration.SchemaError, match="run: treadle db migrate"):
        migration.require_current(connection)


def test_the_views_of_accounts_go_with_the_schema_and_are_made_anew(own_database: Database) -> None:
    count = "SELECT count(*) FROM pg_views WHERE schemaname = 'treadle_scope'"
    with own_database.begin() as connection:
        assert tuples(connection, count) == [(len(scoped_views.SCOPED),)]
        execute(connection, "COMMENT ON SCHEMA treadle_scope IS 'of another Treadle'")
        with pytest.raises(migration.SchemaError, match="views of another Treadle"):
            migration.require_current(connection)
    migration.migrate(own_database.url, CLOCK_START)
    with own_database.begin() as connection:
        migration.require_current(connection)
    migration.roll_back(own_database.url, "0012")
    with own_database.begin() as connection:
        assert tuples(connection, count) == [(0,)]


def test_a_daemon_refuses_a_newer_database(own_database: Database) -> None:
    with own_database.begin() as connection:
        execute(connection, "UPDATE alembic_version SET version_num = '9999'")
        with pytest.raises(migration.SchemaError, match="9999, newer than"):
            migration.require_current(connection)
    with pytest.raises(migration.SchemaError, match="9999, newer than"):
        migration.migrate(own_database.url, CLOCK_START)


def test_a_new_database_gets_the_default_pool_of_the_settings(server_url: str) -> None:
    name = "treadle_test_default_pool"
    embedded_postgres.create_database(server_url, name)
    try:
        url = server_url.replace("/postgres?", f"/{name}?")
        migration.migrate(url, CLOCK_START, default_pool_slots=5)
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT slots FROM slot_pool").fetchall() == [(5,)]
    finally:
        embedded_postgres.drop_database(server_url, name)


def test_revisions_are_numbered_without_gaps_and_named_in_their_files() -> None:
    names = sorted(path.name for path in (migration.folder() / "versions").glob("*.py"))
    assert [name[:4] for name in names] == [f"{number:04}" for number in range(1, len(names) + 1)]
    for name in names:
        assert f'revision = "{name[:4]}"' in (migration.folder() / "versions" / name).read_text()


def test_ensure_makes_each_month_once_with_the_indexes_of_its_parent(own_database: Database) -> None:
    month = date(2031, 12, 1)
    with own_database.begin() as connection:
        expected = [partitions.name_of(table.name, month) for table in PARTITIONED]
        assert partitions.ensure(connection, date(2031, 12, 17)) == expected
        assert partitions.ensure(connection, month) == []
        assert partitions.ensure_ahead(connection, datetime(2031, 11, 30, 23, 59, tzinfo=UTC)) == [
            partitions.name_of(table.name, date(2031, 11, 1)) for table in PARTITIONED
        ]
        indexes = "SELECT count(*) FROM pg_indexes WHERE tablename = %(table)s"
        of_parent = tuples(connection, indexes, {"table": "task_instance"})
        assert tuples(connection, indexes, {"table": "task_instance_2031_12"}) == of_parent
        assert migration.differences(connection) == []


def test_a_new_month_is_made_while_another_transaction_writes_to_this_one(own_database: Database) -> None:
    insert = """
        INSERT INTO audit_log (month, happened_at, actor, event) VALUES ('2026-01-01', now(), 'test', 'write')
    """
    with own_database.begin() as writer:
        execute(writer, insert)
        with own_database.begin() as maker:
            execute(maker, "SET LOCAL lock_timeout = '2s'")
            assert partitions.ensure(maker, date(2032, 1, 1))
            execute(writer, insert)


@pytest.mark.parametrize(
    ("month", "following"), [(date(2026, 1, 1), date(2026, 2, 1)), (date(2026, 12, 1), date(2027, 1, 1))]
)
def test_following_month(month: date, following: date) -> None:
    assert partitions.following(month) == following
