"""``db``, ``info`` and the ways in which a database can be wrong."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from tests.support.command_line import CommandLine

from treadle_metadata import migration
from treadle_metadata.connection import Database


@pytest.fixture
def empty(line: CommandLine, own_database: Database) -> CommandLine:
    """Commands on a database without any table."""
    migration.roll_back(own_database.url, "base")
    return CommandLine({**line.environment, "TREADLE_DATABASE_URL": own_database.url})


def test_migrate_makes_the_tables_and_says_the_version(empty: CommandLine) -> None:
    assert "treadle db migrate" in empty.fails("db", "check")
    error = empty.fails("dags", "list")
    assert "lacks tables" in error
    assert "treadle db migrate" in error
    assert f"is now at schema version {migration.head()}" in empty.run("db", "migrate").stderr
    assert empty.json("db", "check")["schema"] == migration.head()
    assert f"is at schema version {migration.head()}" in empty.run("db", "migrate").stderr


def test_check_waits_no_longer_than_asked(line: CommandLine) -> None:
    nowhere = CommandLine({**line.environment, "TREADLE_DATABASE_URL": "postgresql://u@127.0.0.1:1/x"})
    assert "no database is running at 127.0.0.1:1/x" in nowhere.fails("db", "check", "--wait", "0.3")


def test_a_refused_login_is_told_without_the_password(line: CommandLine) -> None:
    url = line.environment["TREADLE_DATABASE_URL"]
    password = psycopg.conninfo.conninfo_to_dict(url)["password"]
    wrong = CommandLine({**line.environment, "TREADLE_DATABASE_URL": url.replace(str(password), "wrong-canary")})
    error = wrong.fails("dags", "list")
    assert "password authentication failed" in error
    assert "wrong-canary" not in error


def test_shell_hands_the_password_over_unseen(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[tuple[str, list[str], dict[str, str]]] = []
    monkeypatch.setattr("treadle_cli.commands.db.os.execve", lambda *arguments: called.append(arguments))
    line.ok("db", "shell", "-c", "SELECT 1")
    ((program, words, environment),) = called
    url = line.environment["TREADLE_DATABASE_URL"]
    password = urlsplit(url).password or ""
    assert Path(program).name == "psql"
    assert words[2:] == ["-c", "SELECT 1"]
    assert environment["PGPASSWORD"] == password
    assert password not in words[1]


def test_info_names_server_and_schema(line: CommandLine) -> None:
    record = line.json("info")
    assert record["server"].startswith("PostgreSQL ")
    assert record["schema"] == migration.head()
    assert record["daemons"] == []


@pytest.mark.parametrize("daemon", ["scheduler", "dag-processor", "webserver"])
def test_a_daemon_refuses_a_database_of_another_schema(empty: CommandLine, daemon: str) -> None:
    error = empty.fails(daemon)
    assert "run: treadle db migrate" in error
    assert error.count("\n") == 1
