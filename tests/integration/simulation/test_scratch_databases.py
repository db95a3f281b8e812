"""The scratch database: made, dropped whatever happens, and found again if the simulation was killed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from treadle_metadata import embedded_postgres, migration
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_scheduler.simulation.scratch import PREFIX, drop_left_behind, may_create_databases, scratch_database

NOW = datetime(2026, 1, 15, tzinfo=UTC)


def scratch_names(url: str) -> list[str]:
    """Return the scratch databases of a server."""
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", (PREFIX,))
        return [name for (name,) in found.fetchall()]


def test_it_has_this_schema_and_is_dropped_even_when_ctrl_c_ends_the_work(settings: Settings, server_url: str) -> None:
    def interrupted() -> None:
        with scratch_database(settings, begin=NOW, now=NOW) as url:
            made = Database(url)
            with made.begin() as connection:
                migration.require_current(connection)
            made.close()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert scratch_names(server_url) == []


def test_what_a_killed_simulation_left_is_dropped_by_age_and_name(server_url: str) -> None:
    def name(age: timedelta) -> str:
        return f"{PREFIX}{int((NOW - age).timestamp())}_0123abcd"

    old, young, used = (name(timedelta(minutes=minutes)) for minutes in (120, 5, 180))
    foreign = f"{PREFIX}x"
    for one in (old, young, used, foreign):
        embedded_postgres.create_database(server_url, one)
    try:
        with psycopg.connect(server_url.replace("/postgres", f"/{used}")):
            assert drop_left_behind(server_url, NOW) == [old]
        assert set(scratch_names(server_url)) == {young, used, foreign}
    finally:
        for one in (old, young, used, foreign):
            embedded_postgres.drop_database(server_url, one)


def test_a_role_that_may_not_create_databases_gets_a_throwaway_server(settings: Settings, server_url: str) -> None:
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE simulating LOGIN PASSWORD 'x'")
    try:
        url = server_url.replace(server_url.split("@", maxsplit=1)[0], "postgresql://simulating:x")
        assert not may_create_databases(url)
        limited = Settings(home=settings.home, database_url=url)
        with scratch_database(limited, begin=NOW, now=NOW) as scratch, psycopg.connect(scratch) as connection:
            assert connection.execute("SELECT count(*) FROM dag").fetchone() == (0,)
        assert scratch_names(server_url) == []
    finally:
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute("DROP ROLE simulating")
